/*
 * pending_bench: what XPENDING can give at most: pages of 10,000 one after the other, as a plain loop over hiredis asks
 * for them, and nothing done with the replies.
 *
 *     pending_bench fill SOCKET STREAM GROUP ENTRIES     100 consumers hold them, each once delivered
 *     pending_bench read SOCKET STREAM GROUP
 *
 * Prints one JSON object: entries and seconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hiredis/hiredis.h>

enum { CONSUMERS = 100, BATCH = 1000 };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what, const char *why)
{
	fprintf(stderr, "pending_bench: %s: %s\n", what, why);
	exit(1);
}

static redisReply *checked(redisContext *c, redisReply *reply)
{
	if (!reply)
		die("redis", c->errstr);
	if (reply->type == REDIS_REPLY_ERROR)
		die("redis", reply->str);
	return reply;
}

static void receive(redisContext *c)
{
	void *reply;

	if (redisGetReply(c, &reply) != REDIS_OK)
		die("redis", c->errstr);
	freeReplyObject(checked(c, reply));
}

/* Entries of four fields, about a hundred bytes, a consumer a batch. */
static void fill(redisContext *c, const char *stream, const char *group, long entries)
{
	freeReplyObject(checked(c, redisCommand(c, "XGROUP CREATE %s %s 0 MKSTREAM", stream, group)));
	for (long done = 0; done < entries; done += BATCH) {
		long end = entries - done < BATCH ? entries - done : BATCH;

		for (long i = 0; i < end; i++)
			redisAppendCommand(c, "XADD %s * order %ld customer customer-%ld amount %ld state new", stream,
					   done + i, (done + i) % 9973, (done + i) * 7 % 100000);
		redisAppendCommand(c, "XREADGROUP GROUP %s worker-%ld COUNT %d STREAMS %s >", group,
				   done / BATCH % CONSUMERS, BATCH, stream);
		for (long i = 0; i < end + 1; i++)
			receive(c);
	}
}

static long read_all(redisContext *c, const char *stream, const char *group)
{
	char from[64] = "-";
	long entries = 0;
	size_t got;

	do {
		redisReply *page = checked(c, redisCommand(c, "XPENDING %s %s %s + 10000", stream, group, from));

		got = page->elements;
		entries += (long)got;
		if (got)
			snprintf(from, sizeof(from), "(%s", page->element[got - 1]->element[0]->str);
		freeReplyObject(page);
	} while (got);
	return entries;
}

int main(int argc, char **argv)
{
	redisContext *c;
	double begun;
	long entries;

	if (argc < 5)
		die("usage", "pending_bench fill|read SOCKET STREAM GROUP [ENTRIES]");
	c = redisConnectUnix(argv[2]);
	if (!c || c->err)
		die("connect", c ? c->errstr : "no memory");
	begun = now();
	entries = argc > 5 ? strtol(argv[5], NULL, 10) : 0;
	if (!strcmp(argv[1], "fill"))
		fill(c, argv[3], argv[4], entries);
	else
		entries = read_all(c, argv[3], argv[4]);
	printf("{\"entries\": %ld, \"seconds\": %.6f}\n", entries, now() - begun);
	redisFree(c);
	return 0;
}
