/* redis_info: INFO of a server, its values, and what the sampler wants to know of them. */
#include "ingest/sampler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/redis_server.h"
#include "sql/faultpoint.h"
#include "sql/keytext.h"
#include "sql/mem.h"

enum { NUMBER_MOST = 32 };

struct bytes redis_info_value(struct bytes info, const char *name)
{
	const char *line = info.at, *end = info.at ? line + info.size : line;
	size_t length = strlen(name);

	while (line < end) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		const char *last = stop ? stop : end;

		if ((size_t)(last - line) > length && line[length] == ':' && !memcmp(line, name, length)) {
			size_t size = (size_t)(last - line) - length - 1;

			return (struct bytes){ line + length + 1, size && last[-1] == '\r' ? size - 1 : size };
		}
		line = last + 1;
	}
	return (struct bytes){ NULL, 0 };
}

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

static struct bytes keyspace_line(struct bytes info, int db)
{
	char name[16];

	snprintf(name, sizeof(name), "db%d", db);
	return redis_info_value(info, name);
}

int64_t redis_info_keys(struct bytes info, int db)
{
	struct bytes line = keyspace_line(info, db);

	return line.at ? part_of(line, "keys") : 0;
}

/*
 * The line of the database in use. None: it is empty, and nothing is known of field TTLs. Redis 7.4 counts the hashes
 * with field TTLs in it (subexpiry), Valkey 9 the keys (keys_with_volatile_items); a line without either is of a server
 * that has no field TTLs.
 */
static void read_keyspace(struct sampler *s, struct bytes info)
{
	struct bytes line = keyspace_line(info, s->redis->db);
	int64_t volatile_hashes;

	s->server_keys = redis_info_keys(info, s->redis->db);
	if (!line.at)
		return;
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

int sampler_info(struct sampler *sampler, struct writer *writer, struct trouble *t)
{
	struct redis_server *server;
	struct bytes info;

	if (redis_server_look(sampler->run, sampler->conn, sampler->redis, &server, t) < 0)
		return -1;
	info = redis_server_info(server);
	sampler->cluster = redis_info_number(info, "cluster_enabled") == 1;
	read_keyspace(sampler, info);
	return redis_server_push(server, writer, t);
}
