/* redis_info: INFO of the server into redis_server and redis_info, and what the sampler itself wants to know of it. */
#include "ingest/sampler.h"

#include <stdio.h>
#include <stdlib.h>

#include "sql/db.h"
#include "sql/faultpoint.h"
#include "sql/keytext.h"
#include "sql/mem.h"
#include "sql_data.h"

enum { NUMBER_MOST = 32 };

/* A decimal number; UNKNOWN where there is none. */
static int64_t number_of(struct bytes text)
{
	char copy[NUMBER_MOST], *end;
	long long value;

	if (!text.at || !text.size || text.size >= sizeof(copy))
		return UNKNOWN;
	memcpy(copy, text.at, text.size);
	copy[text.size] = '\0';
	value = strtoll(copy, &end, 10);
	return *end ? UNKNOWN : value;
}

int64_t redis_info_number(struct bytes info, const char *name)
{
	return number_of(redis_info_value(info, name));
}

char *redis_info_text(struct bytes info, const char *name)
{
	struct bytes value = redis_info_value(info, name);
	char *text;

	if (!value.at)
		return NULL;
	text = xarray(KEYTEXT_ROOM(value.size), 1);
	keytext_write(value.at, value.size, text);
	return text;
}

/* "keys=12,expires=0,avg_ttl=0,subexpiry=3" */
static int64_t part_of(struct bytes line, const char *name)
{
	const char *at = line.at, *end = at + line.size;
	size_t length = strlen(name);

	while (at < end) {
		const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;

		if ((size_t)(stop - at) > length && at[length] == '=' && !memcmp(at, name, length))
			return number_of((struct bytes){ at + length + 1, (size_t)(stop - at) - length - 1 });
		at = stop + 1;
	}
	return UNKNOWN;
}

/*
 * The line of the database in use. None: it is empty, and nothing is known of field TTLs. Redis 7.4 counts the hashes
 * with field TTLs in it (subexpiry), Valkey 9 the keys (keys_with_volatile_items); a line without either is of a server
 * that has no field TTLs.
 */
static void read_keyspace(struct sampler *s, struct bytes info)
{
	char name[16];
	struct bytes line;
	int64_t volatile_hashes;

	snprintf(name, sizeof(name), "db%d", s->redis->db);
	line = redis_info_value(info, name);
	if (!line.at) {
		s->server_keys = 0;
		return;
	}
	s->server_keys = part_of(line, "keys");
	volatile_hashes = part_of(line, "subexpiry");
	if (volatile_hashes == UNKNOWN)
		volatile_hashes = part_of(line, "keys_with_volatile_items");
	s->field_ttl = volatile_hashes == UNKNOWN ? FIELD_TTL_ABSENT
		       : volatile_hashes          ? FIELD_TTL_ASK
						  : FIELD_TTL_UNUSED;
}

int sampler_look_at_keyspace(struct sampler *sampler, struct trouble *t)
{
	redisReply *reply;

	redis_conn_forget(sampler->conn);
	if (redis_conn_ask(sampler->conn, 2, (struct bytes[]){ BYTES("INFO"), BYTES("keyspace") }, &reply, t) < 0)
		return -1;
	if (reply_is_text(reply))
		read_keyspace(sampler, reply_bytes(reply));
	redis_conn_forget(sampler->conn);
	return 0;
}

int sampler_ask_info(struct redis_conn *conn, struct bytes *info, struct trouble *t)
{
	struct reply_origin origin = redis_conn_origin(conn, "INFO");
	redisReply *reply;

	redis_conn_forget(conn);
	if (redis_conn_ask(conn, 2, (struct bytes[]){ BYTES("INFO"), BYTES("all") }, &reply, t) < 0)
		return -1;
	if (FAULT(REDIS_INFO))
		return trouble_set(t, "INFO: refused");
	if (reply->type == REDIS_REPLY_ERROR)
		return reply_trouble(reply, &origin, t);
	*info = reply_bytes(reply);
	if (!info->at)
		return trouble_set(t, "INFO: a reply of another shape than Redis gives");
	return 0;
}

/* --- into the index ----------------------------------------------------------------------------------------------- */

struct info_job {
	struct fact_redis_server server; /* texts owned below */
	char *address, *role, *version, *process, *replid, *replid2;
	char *info;
	size_t info_size;
};

static void job_free(void *job)
{
	struct info_job *j = job;

	free(j->address);
	free(j->role);
	free(j->version);
	free(j->process);
	free(j->replid);
	free(j->replid2);
	free(j->info);
	free(j);
}

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

static int add_lines(sqlite3_stmt *stmt, int64_t server_id, const struct info_job *job, struct trouble *t)
{
	const char *line = job->info, *end = line + job->info_size;
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

/* A server that an earlier pipeline of the run looked at stays as it was seen first. */
static int job_apply(struct writer *writer, void *job, struct trouble *t)
{
	const struct info_job *j = job;
	sqlite3_stmt *known = writer_statement(writer, sql_queries_redis_server_known, t), *server, *line;
	int found;

	if (!known)
		return -1;
	db_bind_int(known, 1, j->server.run_id);
	db_bind_text(known, 2, j->address);
	found = db_step(known, t);
	sqlite3_reset(known);
	if (found)
		return found < 0 ? -1 : 0;
	server = writer_statement(writer, fact_redis_server_sql, t);
	line = server ? writer_statement(writer, sql_queries_redis_info_add, t) : NULL;
	if (!line)
		return -1;
	fact_redis_server_bind(server, &j->server);
	if (db_run(server, t) < 0)
		return -1;
	return add_lines(line, sqlite3_last_insert_rowid(sqlite3_db_handle(server)), j, t);
}

static struct info_job *job_new(const struct sampler *s, struct bytes info)
{
	struct info_job *j = xalloc(sizeof(*j));

	j->address = xstrdup(s->redis->address);
	j->role = redis_info_text(info, "role");
	j->version = redis_info_text(info, "redis_version");
	j->process = redis_info_text(info, "run_id");
	j->replid = redis_info_text(info, "master_replid");
	j->replid2 = redis_info_text(info, "master_replid2");
	j->info = xmemdup(info.at, info.size);
	j->info_size = info.size;
	j->server = (struct fact_redis_server){
		.run_id = s->run->id,
		.address = j->address,
		.read_us = run_now_us(s->run),
		.role = j->role,
		.version = j->version,
		.process = j->process,
		.replid = j->replid,
		.replid2 = j->replid2,
		.repl_offset = redis_info_number(info, "master_repl_offset"),
		.second_repl_offset = redis_info_number(info, "second_repl_offset"),
		.uptime_s = redis_info_number(info, "uptime_in_seconds"),
		.keys = s->server_keys,
	};
	return j;
}

int sampler_info(struct sampler *sampler, struct writer *writer, struct trouble *t)
{
	struct info_job *job;
	struct bytes info;
	int64_t clustered;

	if (sampler_ask_info(sampler->conn, &info, t) < 0)
		return trouble_wrap(t, "redis %s", sampler->redis->address);
	clustered = redis_info_number(info, "cluster_enabled");
	sampler->cluster = clustered == 1;
	read_keyspace(sampler, info);
	job = job_new(sampler, info);
	redis_conn_forget(sampler->conn);
	if (writer_push(writer, job_apply, job_free, job, sizeof(*job) + job->info_size) < 0)
		return trouble_set(t, "the index cannot be written");
	return 0;
}
