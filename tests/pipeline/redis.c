/* A Redis connection as the programs use it. Where Redis does not answer, the program ends: a restart resumes. */
#include "redis.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ARGS 16

/* The parts of an address, cut out of one copy of it; NULL where they are not given. */
struct address {
	char *copy, *user, *password, *host, *path, *db;
	int port;
};

static char *cut(char *text, char at)
{
	char *p = text ? strrchr(text, at) : NULL;

	if (!p)
		return NULL;
	*p = '\0';
	return p + 1;
}

static void address_of_socket(struct address *a, char *path)
{
	char *query = cut(path, '?');

	a->path = path;
	if (query && !strncmp(query, "db=", 3))
		a->db = query + 3;
}

static void address_of_host(struct address *a, char *rest)
{
	char *at = strrchr(rest, '@');
	char *port;

	if (at) {
		*at = '\0';
		a->password = cut(rest, ':');
		a->user = rest;
		rest = at + 1;
	}
	a->db = cut(rest, '/');
	port = cut(rest, ':');
	a->host = *rest ? rest : NULL;
	a->port = port ? atoi(port) : 6379;
}

static void address_parse(struct address *a, const char *where)
{
	char *rest;

	*a = (struct address){ .copy = xstrdup(where) };
	rest = a->copy;
	if (!strncmp(rest, "unix:", 5))
		address_of_socket(a, rest[5] == '/' && rest[6] == '/' ? rest + 7 : rest + 5);
	else if (rest[0] == '/' || rest[0] == '.')
		address_of_socket(a, rest);
	else
		address_of_host(a, strncmp(rest, "redis://", 8) ? rest : rest + 8);
}

redisContext *redis_open(const char *where)
{
	struct address a;
	const char *password;
	redisContext *r;

	if (!where)
		die_usage("--redis is needed");
	address_parse(&a, where);
	r = a.path ? redisConnectUnix(a.path) : redisConnect(a.host ? a.host : "127.0.0.1", a.port);
	if (!r || r->err)
		die("cannot reach Redis at %s: %s", where, r ? r->errstr : "out of memory");
	password = a.password ? a.password : getenv("REDISCLI_AUTH");
	if (password && a.user && *a.user)
		freeReplyObject(redis_run(r, REDIS_ARGS(bytes_of("AUTH"), bytes_of(a.user), bytes_of(password))));
	else if (password)
		freeReplyObject(redis_run(r, REDIS_ARGS(bytes_of("AUTH"), bytes_of(password))));
	if (a.db && *a.db)
		freeReplyObject(redis_run(r, REDIS_ARGS(bytes_of("SELECT"), bytes_of(a.db))));
	free(a.copy);
	return r;
}

void redis_queue(redisContext *r, int n, const struct bytes *args)
{
	const char *data[MAX_ARGS];
	size_t len[MAX_ARGS];

	if (n > MAX_ARGS)
		die("a Redis command of %d arguments", n);
	for (int i = 0; i < n; i++) {
		data[i] = args[i].data ? args[i].data : "";
		len[i] = args[i].len;
	}
	if (redisAppendCommandArgv(r, n, data, len) != REDIS_OK)
		die("Redis: %s", r->errstr);
}

redisReply *redis_reply(redisContext *r)
{
	void *reply;

	if (redisGetReply(r, &reply) != REDIS_OK)
		die("Redis: %s", r->errstr);
	return reply;
}

redisReply *redis_run(redisContext *r, int n, const struct bytes *args)
{
	redisReply *reply;

	redis_queue(r, n, args);
	reply = redis_reply(r);
	if (reply->type == REDIS_REPLY_ERROR)
		die("Redis %.*s: %s", (int)args[0].len, args[0].data, reply->str);
	return reply;
}

int64_t redis_number(redisContext *r, int n, const struct bytes *args)
{
	redisReply *reply = redis_run(r, n, args);
	int64_t number = reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;

	freeReplyObject(reply);
	return number;
}

struct bytes redis_bytes(const redisReply *reply)
{
	if (reply->type != REDIS_REPLY_STRING && reply->type != REDIS_REPLY_STATUS)
		return (struct bytes){ NULL, 0 };
	return (struct bytes){ reply->str, (size_t)reply->len };
}
