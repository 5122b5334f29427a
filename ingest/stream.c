/*
 * stream: the entries of streams: in the config, one after the other, each with a connection and a writer of its own.
 */
#include "ingest/stream.h"

#include <stdlib.h>

#include "ingest/stream_match.h"
#include "ingest/stream_watch.h"
#include "sql/db.h"
#include "sql/mem.h"
#include "sql/runlog.h"
#include "sql_data.h"

void watch_trouble(struct stream_watch *watch, const struct trouble *what)
{
	watch->troubles = xgrow(watch->troubles, watch->trouble_count + 1, sizeof(*watch->troubles));
	watch->troubles[watch->trouble_count++] = xstrdup(what->text);
}

int watch_lose(struct stream_watch *watch)
{
	watch->lost = true;
	return -1;
}

int watch_ask(struct stream_watch *watch, size_t count, const struct bytes *arguments, redisReply **reply,
	      enum redis_fault *fault, struct trouble *t)
{
	struct reply_origin origin = redis_conn_origin(watch->sampler->conn, arguments[0].at);

	redis_conn_forget(watch->sampler->conn);
	if (redis_conn_ask(watch->sampler->conn, count, arguments, reply, t) < 0)
		return watch_lose(watch);
	if ((*reply)->type != REDIS_REPLY_ERROR)
		return 0;
	if (fault)
		*fault = reply_fault(*reply);
	return reply_trouble(*reply, &origin, t);
}

/* --- rows of the watch -------------------------------------------------------------------------------------------- */

/* A JSON list of texts, which the config keeps free of control characters. The caller frees. */
static char *json_list(char *const *texts, size_t count)
{
	struct buffer list = { 0 };

	buffer_add(&list, "[", 1);
	for (size_t i = 0; i < count; i++) {
		buffer_add(&list, i ? ",\"" : "\"", i ? 2 : 1);
		for (const char *at = texts[i]; *at; at++) {
			if (*at == '"' || *at == '\\')
				buffer_add(&list, "\\", 1);
			buffer_add(&list, at, 1);
		}
		buffer_add(&list, "\"", 1);
	}
	buffer_add(&list, "]", 2); /* with a NUL */
	return (char *)list.data;
}

static int record_watch(struct stream_watch *watch, sqlite3 *db, struct trouble *t)
{
	const struct stream_config *c = watch->config;
	char *excluded = json_list(c->excluded, c->excluded_count);
	const struct fact_stream_watch row = {
		.run_id = watch->run->id,
		.name = c->name,
		.redis = c->redis.address,
		.key = c->key,
		.group_name = c->group,
		.excluded = excluded,
		.idle_ms = c->idle_ms,
		.deliveries = c->deliveries,
		.dlq = c->dlq,
		.lag_max = c->lag_max,
		.backlog_age_max_ms = c->backlog_age_max_ms,
		.consumer_idle_max_ms = c->consumer_idle_max_ms,
		.length_max = c->length_max,
		.pending_keys = watch->pending_keys,
		.looked = UNKNOWN,
	};
	int result = fact_stream_watch_add(db, &row, &watch->watch_id, t);

	free(excluded);
	return result;
}

static int record_looked(struct stream_watch *watch, sqlite3 *db, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int result;

	if (db_prepare(db, sql_queries_stream_watch_end, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, watch->watch_id);
	db_bind_int(stmt, 2, !watch->trouble_count && !watch_over(watch));
	result = db_run(stmt, t);
	sqlite3_finalize(stmt);
	return result;
}

static int record_troubles(struct stream_watch *watch, sqlite3 *db, struct trouble *t)
{
	char *name = xprintf("streams/%s", watch->config->name);
	const struct run_gap gap = { .stage = "streams", .pipeline = name, .partition = UNKNOWN };
	int result = 0;

	for (size_t i = 0; i < watch->trouble_count && result == 0; i++) {
		struct trouble what;

		trouble_set(&what, "%s", watch->troubles[i]);
		result = run_trouble(watch->run, db, &gap, &what, t);
	}
	free(name);
	return result;
}

/* --- the look ----------------------------------------------------------------------------------------------------- */

static void open_server(struct stream_watch *watch, int64_t timeout_ms)
{
	struct trouble what = { 0 };

	if (sampler_open(watch->run, &watch->config->redis, timeout_ms, &watch->sampler, &what) < 0) {
		watch->lost = true;
	} else if (sampler_info(watch->sampler, watch->rows.writer, &what) == 0) {
		if (watch->sampler->cluster && stream_is_glob(watch->config->key)) {
			trouble_set(&what,
				    "redis %s is a node of a cluster: streams on its other nodes are not found by "
				    "the glob %s",
				    watch->config->redis.address, watch->config->key);
			watch_trouble(watch, &what);
		}
		return;
	}
	if (!run_stopped(watch->run))
		watch_trouble(watch, &what);
}

/* What the config asks for and nothing was found of. */
static void judge_globs(struct stream_watch *watch)
{
	const struct stream_config *config = watch->config;
	struct trouble what;

	if (watch->trouble_count || watch_over(watch))
		return;
	if (!watch->met_stream && !watch->expect_empty)
		trouble_set(&what, "no stream matches %s", config->key);
	else if (watch->met_stream && !watch->met_group && !stream_is_glob(config->group))
		trouble_set(&what, "no stream that matches %s has a group %s", config->key, config->group);
	else if (watch->passed_group && !watch->met_group && !watch->expect_empty)
		trouble_set(&what, "%s: there are groups, but none that %s fits and that is not excluded", config->key,
			    config->group);
	else
		return;
	watch_trouble(watch, &what);
}

static void look(struct stream_watch *watch, int64_t timeout_ms)
{
	struct trouble what = { 0 };

	stream_rows_forget(&watch->rows, watch->config->name, watch->config->redis.address, NULL);
	open_server(watch, timeout_ms);
	if (watch->lost && !stream_is_glob(watch->config->key))
		stream_names_find(watch, NULL);
	else if (!watch->lost && stream_names_find(watch, &what) < 0 && !run_stopped(watch->run))
		watch_trouble(watch, &what);
	for (size_t i = 0; i < watch->names.count && !watch->rows.failed && !run_stopped(watch->run); i++)
		stream_look_at(watch, &watch->names.items[i]);
	judge_globs(watch);
	if (!watch->rows.failed && !run_stopped(watch->run))
		stream_dlq_look(watch);
}

static void watch_release(struct stream_watch *watch)
{
	stream_names_release(&watch->names);
	stream_names_release(&watch->groups);
	redis_seen_release(&watch->seen);
	for (size_t i = 0; i < watch->trouble_count; i++)
		free(watch->troubles[i]);
	free(watch->troubles);
	buffer_release(&watch->out);
	sampler_close(watch->sampler);
}

static int look_at_watch(struct stream_watch *watch, sqlite3 *db, int64_t timeout_ms, struct trouble *t)
{
	if (stream_names_earlier(watch, db, t) < 0 || stream_rows_init(&watch->rows, watch->run, db, t) < 0)
		return -1;
	watch->rows.writer = writer_start(watch->run, db);
	look(watch, timeout_ms);
	stream_rows_flush(&watch->rows, NULL); /* where it fails, the writer has the words */
	if (writer_stop(watch->rows.writer, t) < 0)
		return -1;
	if (record_troubles(watch, db, t) < 0)
		return -1;
	return record_looked(watch, db, t);
}

int stream_look(const struct run *run, sqlite3 *db, const struct config *config, int64_t timeout_ms, struct trouble *t)
{
	struct stream_watch *watches = xarray(config->stream_count, sizeof(*watches));
	int result = 0;

	for (size_t i = 0; i < config->stream_count && result == 0; i++) {
		watches[i] = (struct stream_watch){
			.run = run,
			.config = &config->streams[i],
			.pending_keys = config->pending_keys,
			.expect_empty = config->expect_empty,
		};
		result = record_watch(&watches[i], db, t);
	}
	for (size_t i = 0; i < config->stream_count && result == 0 && !run_stopped(run); i++)
		result = look_at_watch(&watches[i], db, timeout_ms, t);
	for (size_t i = 0; i < config->stream_count; i++)
		watch_release(&watches[i]);
	free(watches);
	return result;
}
