/*
 * sample_bench: how fast Redis is sampled into an index, against what the server can do by parts.
 *
 *     sample_bench [KEYS [ROUNDS]]          1,000,000 hashes of three fields, five rounds
 *
 * Starts a redis-server of its own on a unix socket. Each round asks redis-benchmark (one connection, pipelined) for
 * the speed of SCAN COUNT 1000, HMGET and PTTL, and samples all keys into a new index. The limit is 1 / (1/SCAN +
 * 1/HMGET + 1/PTTL) keys/s. Prints one JSON object with the medians.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "ingest/sample.h"
#include "sql/index.h"
#include "sql/mem.h"

enum { ROUNDS_MOST = 25, PIPELINE = 100, FILL = 5000 };

struct round {
	double scan, hmget, pttl, limit, sampled, ratio; /* keys/s, but for the ratio */
	double main_cpu, writer_cpu;                     /* microseconds a key */
};

struct bench {
	char dir[64], socket[96];
	pid_t server;
	int64_t keys;
	size_t rounds;
};

static int64_t clock_us(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t wall_us(void *context)
{
	(void)context;
	return clock_us(CLOCK_REALTIME);
}

static int64_t tick_us(void *context)
{
	(void)context;
	return clock_us(CLOCK_MONOTONIC);
}

static void die(const char *what, const char *why)
{
	fprintf(stderr, "sample_bench: %s: %s\n", what, why);
	exit(1);
}

/* --- the server --------------------------------------------------------------------------------------------------- */

static void start_server(struct bench *b)
{
	snprintf(b->dir, sizeof(b->dir), "/tmp/fencepost-bench-XXXXXX");
	if (!mkdtemp(b->dir))
		die("make a directory", b->dir);
	snprintf(b->socket, sizeof(b->socket), "%s/redis.sock", b->dir);
	b->server = fork();
	if (b->server == 0) {
		execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", b->socket, "--save", "", "--dir",
		       b->dir, "--logfile", "redis.log", (char *)NULL);
		_exit(127);
	}
}

static redisContext *dial(const struct bench *b)
{
	for (int tries = 0; tries < 500; tries++) {
		redisContext *c = redisConnectUnix(b->socket);

		if (c && !c->err)
			return c;
		if (c)
			redisFree(c);
		usleep(10000);
	}
	die("connect", b->socket);
	return NULL;
}

static void fill(const struct bench *b)
{
	redisContext *c = dial(b);
	void *reply;

	for (int64_t i = 0; i < b->keys;) {
		int64_t to = i + FILL < b->keys ? i + FILL : b->keys, first = i;

		for (; i < to; i++)
			redisAppendCommand(c, "HSET state:user-%012lld value %s offset %lld partition %d", (long long)i,
					   "0123456789abcdef", (long long)(i * 7), (int)(i % 12));
		for (int64_t n = first; n < to; n++)
			if (redisGetReply(c, &reply) != REDIS_OK)
				die("fill", c->errstr);
			else
				freeReplyObject(reply);
	}
	redisFree(c);
}

static void stop_server(const struct bench *b)
{
	char command[160];

	kill(b->server, SIGTERM);
	waitpid(b->server, NULL, 0);
	snprintf(command, sizeof(command), "rm -rf '%s'", b->dir);
	if (system(command))
		fprintf(stderr, "sample_bench: cannot remove %s\n", b->dir);
}

/* --- the parts ---------------------------------------------------------------------------------------------------- */

static double per_second(const struct bench *b, int64_t requests, const char *command)
{
	char shell[512], line[512];
	double rps = 0;
	FILE *pipe;

	snprintf(shell, sizeof(shell),
		 "redis-benchmark -s %s --csv -c 1 -P %d -n %" PRId64 " -r %" PRId64 " %s 2>/dev/null", b->socket,
		 PIPELINE, requests, b->keys, command);
	pipe = popen(shell, "r");
	while (pipe && fgets(line, sizeof(line), pipe)) {
		const char *comma = strstr(line, "\",\"");

		if (comma && atof(comma + 3) > 0)
			rps = atof(comma + 3);
	}
	if (!pipe || pclose(pipe) || rps <= 0)
		die("redis-benchmark", command);
	return rps;
}

/* --- the sampler -------------------------------------------------------------------------------------------------- */

static struct config *configure(const struct bench *b)
{
	char *yaml = xprintf("kafka:\n  bootstrap.servers: unused:9092\nredis:\n  url: unix://%s\n  rate: 0\nindex: "
			     "i.db\npipelines:\n  orders:\n"
			     "    topic: orders\n    group: g\n    key: \"state:{key}\"\n",
			     b->socket);
	struct config_overrides overrides = { .redis_rate = UNKNOWN };
	struct config *config;
	struct trouble t = { "" };
	struct config_text text = { .path = "bench.yaml", .bytes = yaml, .size = strlen(yaml) };

	if (config_parse(&text, &overrides, &config, &t) < 0)
		die("config", t.text);
	free(yaml);
	return config;
}

static void sample(const struct bench *b, const struct config *config, struct round *round)
{
	static atomic_int never;
	struct run run = { .id = 1, .wall_us = wall_us, .tick_us = tick_us, .stop = &never, .memory = 256 << 20 };
	struct sample_subject subject = { .pipeline = &config->pipelines[0], .topic = "orders", .topic_id = 1 };
	struct sample_counts counts = { 0 };
	struct keyset *keys = keyset_new(INT64_MAX, 256 << 20, false);
	struct trouble t = { "" };
	struct index index;
	struct sampler *sampler;
	struct writer *writer;
	char *path = xprintf("%s/index.db", b->dir);
	int64_t start, main_start = clock_us(CLOCK_THREAD_CPUTIME_ID), all_start = clock_us(CLOCK_PROCESS_CPUTIME_ID),
		       took, main_cpu;

	unlink(path);
	if (index_open_write(&run, path, 0, &index, &t) != INDEX_OPEN)
		die("index", t.text);
	start = clock_us(CLOCK_MONOTONIC);
	writer = writer_start(&run, index.db);
	if (sampler_open(&run, &config->pipelines[0].redis, 60000, &sampler, &t) < 0 ||
	    sampler_info(sampler, writer, &t) < 0 || sampler_scan(sampler, writer, &subject, keys, &counts, &t) < 0 ||
	    writer_stop(writer, &t) < 0)
		die("sample", t.text);
	took = clock_us(CLOCK_MONOTONIC) - start;
	if (!counts.scan_complete || counts.taken != b->keys)
		die("sample", counts.scan_trouble.text);
	main_cpu = clock_us(CLOCK_THREAD_CPUTIME_ID) - main_start;
	round->sampled = (double)b->keys * 1e6 / (double)took;
	round->main_cpu = (double)main_cpu / (double)b->keys;
	round->writer_cpu = (double)(clock_us(CLOCK_PROCESS_CPUTIME_ID) - all_start - main_cpu) / (double)b->keys;
	sampler_close(sampler);
	keyset_free(keys);
	index_close(&index);
	free(path);
}

static struct round measure(const struct bench *b, const struct config *config)
{
	struct round r = {
		.scan = 1000 * per_second(b, b->keys / 200, "scan 0 match 'state:*' count 1000"),
		.hmget = per_second(b, b->keys, "hmget state:user-__rand_int__ offset partition"),
		.pttl = per_second(b, b->keys, "pttl state:user-__rand_int__"),
	};

	r.limit = 1 / (1 / r.scan + 1 / r.hmget + 1 / r.pttl);
	sample(b, config, &r);
	r.ratio = r.sampled / r.limit;
	return r;
}

static int rising(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const struct round *rounds, size_t count, size_t offset)
{
	double values[ROUNDS_MOST];

	for (size_t i = 0; i < count; i++)
		memcpy(&values[i], (const char *)&rounds[i] + offset, sizeof(values[i]));
	qsort(values, count, sizeof(values[0]), rising);
	return values[count / 2];
}

int main(int argc, char **argv)
{
	struct bench b = { .keys = argc > 1 ? atoll(argv[1]) : 1000000,
			   .rounds = argc > 2 ? (size_t)atoi(argv[2]) : 5 };
	struct round rounds[ROUNDS_MOST];
	struct config *config;

	if (b.keys < 1000 || !b.rounds || b.rounds > ROUNDS_MOST)
		die("usage", "sample_bench [KEYS [ROUNDS]]: at least 1,000 keys, at most 25 rounds");
	start_server(&b);
	fill(&b);
	config = configure(&b);
	for (size_t i = 0; i < b.rounds; i++)
		rounds[i] = measure(&b, config);
#define MEDIAN(member) median(rounds, b.rounds, offsetof(struct round, member))
	printf("{\"bench\": \"sample\", \"keys\": %" PRId64
	       ", \"rounds\": %zu, \"scan\": %.0f, \"hmget\": %.0f, \"pttl\": %.0f, \"limit\": %.0f, "
	       "\"sampled\": %.0f, \"ratio\": %.3f, \"main_us_per_key\": %.3f, \"writer_us_per_key\": %.3f}\n",
	       b.keys, b.rounds, MEDIAN(scan), MEDIAN(hmget), MEDIAN(pttl), MEDIAN(limit), MEDIAN(sampled),
	       MEDIAN(ratio), MEDIAN(main_cpu), MEDIAN(writer_cpu));
	config_free(config);
	stop_server(&b);
	return 0;
}
