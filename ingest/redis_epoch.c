/* redis_epoch: the epoch of each partition, asked for a window at a time. */
#include "ingest/sampler.h"

#include <stdlib.h>

#include "sql/db.h"
#include "sql/faultpoint.h"
#include "sql/fencefield.h"
#include "sql/mem.h"

enum { WINDOW = 1000 };

struct epoch_job {
	struct fact_epoch row; /* its key owned here, its words static */
	struct buffer redis_key;
};

static void job_free(void *job)
{
	struct epoch_job *j = job;

	buffer_release(&j->redis_key);
	free(j);
}

static int job_apply(struct writer *writer, void *job, struct trouble *t)
{
	const struct epoch_job *j = job;
	sqlite3_stmt *stmt = writer_statement(writer, fact_epoch_sql, t);

	if (!stmt)
		return -1;
	fact_epoch_bind(stmt, &j->row);
	return db_run(stmt, t);
}

/* What GET says of one partition's epoch. 0 or -1. */
static int read_epoch(struct sampler *s, const redisReply *reply, struct fact_epoch *row, struct trouble *t)
{
	struct reply_origin origin = redis_conn_origin(s->conn, "GET");
	struct bytes text = reply_bytes(reply);
	enum fencefield state;

	row->read_us = run_now_us(s->run);
	row->present = reply->type != REDIS_REPLY_NIL;
	row->value = UNKNOWN;
	if (FAULT(REDIS_EPOCH))
		return trouble_set(t, "GET: refused");
	if (reply_fault(reply) == REDIS_FAULT_WRONG_TYPE) {
		row->malformed = "not a string";
		return 0;
	}
	if (reply->type == REDIS_REPLY_ERROR)
		return reply_trouble(reply, &origin, t);
	if (!row->present)
		return 0;
	state = fencefield_read_epoch(text.at, text.size, &row->value);
	if (state != FENCEFIELD_OK)
		row->malformed = fencefield_word(state);
	return 0;
}

struct epochs {
	struct sampler *sampler;
	struct writer *writer;
	const struct pipeline_config *pipeline;
	const char *topic;
	int64_t topic_id;
};

static void send_gets(const struct epochs *e, int32_t from, int32_t to)
{
	struct buffer key = { 0 }, out = { 0 };

	for (int32_t p = from; p < to; p++) {
		template_render_partition(e->pipeline->epoch, e->topic, p, &key);
		redis_format(&out, 2, (struct bytes[]){ BYTES("GET"), { key.data, key.size } });
	}
	redis_conn_send(e->sampler->conn, &out);
	buffer_release(&key);
	buffer_release(&out);
}

static int take_epoch(const struct epochs *e, int32_t partition, const redisReply *reply, struct trouble *t)
{
	struct epoch_job *job = xalloc(sizeof(*job));

	job->row =
		(struct fact_epoch){ .run_id = e->sampler->run->id, .topic_id = e->topic_id, .partition = partition };
	template_render_partition(e->pipeline->epoch, e->topic, partition, &job->redis_key);
	job->row.redis_key = (struct bytes){ job->redis_key.data, job->redis_key.size };
	if (read_epoch(e->sampler, reply, &job->row, t) < 0) {
		job_free(job);
		return -1;
	}
	if (writer_push(e->writer, job_apply, job_free, job, sizeof(*job) + job->redis_key.size) < 0)
		return trouble_set(t, "the index cannot be written");
	return 0;
}

/* Partitions [*from, to), as far as the link holds. 1; 0 it was lost; -1 trouble. */
static int read_window(const struct epochs *e, int32_t *from, int32_t to, struct trouble *t)
{
	struct redis_conn *conn = e->sampler->conn;
	redisReply *reply;
	int got;

	send_gets(e, *from, to);
	got = redis_conn_flush(conn, t);
	for (; got > 0 && *from < to; (*from)++) {
		got = redis_conn_receive(conn, &reply, t);
		if (got > 0 && take_epoch(e, *from, reply, t) < 0)
			got = -1;
		if (got <= 0)
			break;
	}
	redis_conn_forget(conn);
	return got;
}

int sampler_epochs(struct sampler *sampler, struct writer *writer, const struct pipeline_config *pipeline,
		   int64_t topic_id, const char *topic, int32_t partitions, struct trouble *t)
{
	struct epochs e = { sampler, writer, pipeline, topic, topic_id };

	for (int32_t at = 0; pipeline->epoch && at < partitions;) {
		int32_t to = partitions - at < WINDOW ? partitions : at + WINDOW;

		if (redis_conn_reopen(sampler->conn, t) < 0 || read_window(&e, &at, to, t) < 0) {
			redis_conn_drop(sampler->conn);
			return trouble_wrap(t, "redis %s: epochs", sampler->redis->address);
		}
	}
	return 0;
}
