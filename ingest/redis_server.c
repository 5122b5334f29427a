/* redis_server: asks a server of itself, and writes what it says. */
#include "ingest/redis_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/sampler.h"
#include "sql/db.h"
#include "sql/keytext.h"
#include "sql/mem.h"
#include "sql_data.h"

/* The settings that checks read. Redis 4 had the second name of the last; later versions know both. */
#define SETTINGS(X)                                                                                                    \
	X("maxmemory") X("maxmemory-policy") X("appendonly") X("appendfsync") X("save") X("min-replicas-to-write")     \
		X("min-slaves-to-write")

#define SETTING_BYTES(name) BYTES(name),
static const struct bytes settings[] = { SETTINGS(SETTING_BYTES) };

enum { SETTING_COUNT = sizeof(settings) / sizeof(*settings) };

struct redis_server {
	struct fact_redis_server row; /* texts owned below */
	char *address, *role, *version, *process, *replid, *replid2, *settings_trouble;
	struct bytes info;
	char *setting[SETTING_COUNT]; /* NULL: not known */
};

void redis_server_free(struct redis_server *server)
{
	if (!server)
		return;
	free(server->address);
	free(server->role);
	free(server->version);
	free(server->process);
	free(server->replid);
	free(server->replid2);
	free(server->settings_trouble);
	free((void *)server->info.at);
	for (size_t i = 0; i < SETTING_COUNT; i++)
		free(server->setting[i]);
	free(server);
}

struct bytes redis_server_info(const struct redis_server *server)
{
	return server->info;
}

/* --- asking ------------------------------------------------------------------------------------------------------- */

/* When a question was asked and answered, by this host. */
struct round_trip {
	int64_t wall_us, tick_us;
};

static struct round_trip trip_begin(const struct run *run)
{
	return (struct round_trip){ .wall_us = run_now_us(run), .tick_us = run_tick_us(run) };
}

/* The server's clock stood at server_us some time within the trip. */
static void set_clock(const struct run *run, struct redis_server *s, struct round_trip began, int64_t server_us)
{
	int64_t took = run_tick_us(run) - began.tick_us;

	if (server_us == UNKNOWN)
		return;
	s->row.server_us = server_us;
	s->row.host_us = began.wall_us + took / 2;
	s->row.answered_in_us = took;
}

static void read_info(struct redis_server *s, struct bytes info, const struct redis_config *redis)
{
	s->address = xstrdup(redis->address);
	s->role = redis_info_text(info, "role");
	s->version = redis_info_text(info, "redis_version");
	s->process = redis_info_text(info, "run_id");
	s->replid = redis_info_text(info, "master_replid");
	s->replid2 = redis_info_text(info, "master_replid2");
	s->info = (struct bytes){ xmemdup(info.at, info.size), info.size };
	s->row = (struct fact_redis_server){
		.address = s->address,
		.role = s->role,
		.version = s->version,
		.process = s->process,
		.replid = s->replid,
		.replid2 = s->replid2,
		.repl_offset = redis_info_number(info, "master_repl_offset"),
		.second_repl_offset = redis_info_number(info, "second_repl_offset"),
		.uptime_s = redis_info_number(info, "uptime_in_seconds"),
		.keys = redis_info_keys(info, redis->db),
		.server_us = UNKNOWN,
		.host_us = UNKNOWN,
		.answered_in_us = UNKNOWN,
	};
}

static int ask_info(const struct run *run, struct redis_conn *conn, const struct redis_config *redis,
		    struct redis_server *s, struct trouble *t)
{
	struct round_trip trip = trip_begin(run);
	struct bytes info;

	if (sampler_ask_info(conn, &info, t) < 0)
		return -1;
	read_info(s, info, redis);
	s->row.run_id = run->id;
	s->row.read_us = run_now_us(run);
	set_clock(run, s, trip, redis_info_number(info, "server_time_usec"));
	redis_conn_forget(conn);
	return 0;
}

int64_t redis_time_us(const redisReply *reply)
{
	long long seconds, micros;
	char *end[2];

	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 || !reply_is_text(reply->element[0]) ||
	    !reply_is_text(reply->element[1]))
		return UNKNOWN;
	seconds = strtoll(reply->element[0]->str, &end[0], 10);
	micros = strtoll(reply->element[1]->str, &end[1], 10);
	if (*end[0] || *end[1] || seconds < 0 || seconds > INT64_MAX / 2000000 || micros < 0 || micros > 999999)
		return UNKNOWN;
	return seconds * 1000000 + micros;
}

/* Nearer than what INFO said, where it may be asked. */
static int ask_time(const struct run *run, struct redis_conn *conn, struct redis_server *s, struct trouble *t)
{
	struct round_trip trip = trip_begin(run);
	redisReply *reply;

	if (redis_conn_ask(conn, 1, (struct bytes[]){ BYTES("TIME") }, &reply, t) < 0)
		return -1;
	set_clock(run, s, trip, redis_time_us(reply));
	redis_conn_forget(conn);
	return 0;
}

/* [name, value]; nothing of a setting that the server does not have. */
static char *value_of(const redisReply *reply)
{
	struct bytes value = { NULL, 0 };
	char *text;

	if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2)
		value = reply_bytes(reply->element[1]);
	if (!value.at)
		return NULL;
	text = xarray(KEYTEXT_ROOM(value.size), 1);
	keytext_write(value.at, value.size, text);
	return text;
}

/* One name a command: before Redis 7 CONFIG GET takes no more, and a pattern that fits all would show secrets. */
static int ask_settings(struct redis_conn *conn, struct redis_server *s, struct trouble *t)
{
	struct reply_origin origin = redis_conn_origin(conn, "CONFIG GET");

	for (size_t i = 0; i < SETTING_COUNT; i++) {
		struct trouble why = { 0 };
		redisReply *reply;

		if (redis_conn_ask(conn, 3, (struct bytes[]){ BYTES("CONFIG"), BYTES("GET"), settings[i] }, &reply, t) < 0)
			return -1;
		if (reply->type == REDIS_REPLY_ERROR) {
			reply_trouble(reply, &origin, &why);
			s->row.settings_trouble = s->settings_trouble = xstrdup(why.text);
			break;
		}
		s->setting[i] = value_of(reply);
		redis_conn_forget(conn);
	}
	redis_conn_forget(conn);
	return 0;
}

int redis_server_look(const struct run *run, struct redis_conn *conn, const struct redis_config *redis,
		      struct redis_server **server, struct trouble *t)
{
	struct redis_server *s = xalloc(sizeof(*s));

	if (ask_info(run, conn, redis, s, t) == 0 && ask_time(run, conn, s, t) == 0 && ask_settings(conn, s, t) == 0) {
		*server = s;
		return 0;
	}
	redis_server_free(s);
	*server = NULL;
	return trouble_wrap(t, "redis %s", redis->address);
}

/* --- into the index ----------------------------------------------------------------------------------------------- */

static int add_line(sqlite3_stmt *stmt, int64_t server_id, struct bytes name, struct bytes value, struct trouble *t)
{
	char *texts[2] = { xarray(KEYTEXT_ROOM(name.size), 1), xarray(KEYTEXT_ROOM(value.size), 1) };
	int result;

	keytext_write(name.at, name.size, texts[0]);
	keytext_write(value.at, value.size, texts[1]);
	db_bind_int(stmt, 1, server_id);
	db_bind_text(stmt, 2, texts[0]);
	db_bind_text(stmt, 3, texts[1]);
	result = db_run(stmt, t);
	free(texts[0]);
	free(texts[1]);
	return result;
}

/* "module:name=search,ver=20811": the name becomes part of the line's. */
static struct bytes module_name(struct bytes value, char *out, size_t room)
{
	const char *start = memmem(value.at, value.size, "name=", 5), *end;
	int size;

	if (!start)
		return BYTES("module");
	start += 5;
	end = memchr(start, ',', (size_t)((const char *)value.at + value.size - start));
	size = snprintf(out, room, "module:%.*s", end ? (int)(end - start) : 0, start);
	return (struct bytes){ out, (size_t)size < room ? (size_t)size : room - 1 };
}

static int add_lines(sqlite3_stmt *stmt, int64_t server_id, const struct redis_server *s, struct trouble *t)
{
	const char *line = (const char *)s->info.at, *end = line + s->info.size;
	char module[64];

	for (const char *stop; line < end; line = stop + 1) {
		const char *newline = memchr(line, '\n', (size_t)(end - line)), *colon;
		struct bytes name, value;

		stop = newline ? newline : end;
		colon = memchr(line, ':', (size_t)(stop - line));
		if (*line == '#' || !colon)
			continue;
		name = (struct bytes){ line, (size_t)(colon - line) };
		value = (struct bytes){ colon + 1, (size_t)(stop - colon - 1) };
		if (value.size && ((const char *)value.at)[value.size - 1] == '\r')
			value.size--;
		if (name.size == 6 && !memcmp(name.at, "module", 6))
			name = module_name(value, module, sizeof(module));
		if (add_line(stmt, server_id, name, value, t) < 0)
			return -1;
	}
	return 0;
}

static int add_settings(sqlite3_stmt *stmt, int64_t server_id, const struct redis_server *s, struct trouble *t)
{
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		if (!s->setting[i])
			continue;
		db_bind_int(stmt, 1, server_id);
		db_bind_text(stmt, 2, settings[i].at);
		db_bind_text(stmt, 3, s->setting[i]);
		if (db_run(stmt, t) < 0)
			return -1;
	}
	return 0;
}

/* 1 the run has the server's rows, 0 not yet, -1. */
static int is_known(sqlite3 *db, const struct redis_server *s, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int found;

	if (db_prepare(db, sql_queries_redis_server_known, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, s->row.run_id);
	db_bind_text(stmt, 2, s->address);
	found = db_step(stmt, t);
	sqlite3_finalize(stmt);
	return found;
}

int redis_server_add(const struct redis_server *s, sqlite3 *db, struct trouble *t)
{
	sqlite3_stmt *line = NULL, *setting = NULL;
	int known = is_known(db, s, t), result = -1;
	int64_t server_id;

	if (known)
		return known < 0 ? -1 : 0;
	if (fact_redis_server_add(db, &s->row, &server_id, t) == 0 &&
	    db_prepare(db, sql_queries_redis_info_add, &line, t) == 0 &&
	    db_prepare(db, sql_queries_redis_setting_add, &setting, t) == 0 && add_lines(line, server_id, s, t) == 0)
		result = add_settings(setting, server_id, s, t);
	sqlite3_finalize(line);
	sqlite3_finalize(setting);
	return result;
}

static int apply(struct writer *writer, void *job, struct trouble *t)
{
	sqlite3_stmt *any = writer_statement(writer, sql_queries_redis_server_known, t);

	return any ? redis_server_add(job, sqlite3_db_handle(any), t) : -1;
}

static void done(void *job)
{
	redis_server_free(job);
}

int redis_server_push(struct redis_server *server, struct writer *writer, struct trouble *t)
{
	if (writer_push(writer, apply, done, server, sizeof(*server) + server->info.size) < 0)
		return trouble_set(t, "the index cannot be written");
	return 0;
}

int redis_server_record(const struct run *run, struct redis_conn *conn, const struct redis_config *redis,
			struct writer *writer, struct trouble *t)
{
	struct redis_server *server;

	if (redis_server_look(run, conn, redis, &server, t) < 0)
		return -1;
	return redis_server_push(server, writer, t);
}
