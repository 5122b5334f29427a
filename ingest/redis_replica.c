/* redis_replica: shows that a replica has everything its master had when C was read, or why that cannot be shown. */
#include "ingest/sampler.h"

#include <stdlib.h>
#include <time.h>

#include "sql/mem.h"

enum { CHAIN_MOST = 4, NAP_US = 50000 };

/* What the head of a chain of replicas says of itself. */
struct master {
	char *replid;
	int64_t offset;
};

static int say(struct sampler *s, const char **words, char *text)
{
	free(s->replica_words);
	*words = s->replica_words = text;
	return 0;
}

static bool is_replica(struct bytes info)
{
	struct bytes role = redis_info_value(info, "role");

	return role.size == 5 && !memcmp(role.at, "slave", 5);
}

/* The server that an INFO names as its master, with the credentials of the replica. host is the caller's to free. */
static struct redis_config config_of_master(const struct sampler *s, struct bytes info, char *host)
{
	struct redis_config config = *s->redis;

	config.host = host;
	config.port = (int)redis_info_number(info, "master_port");
	config.path = NULL;
	config.db = 0;
	return config;
}

/* Follows the chain from the server whose INFO is given. 0, or -1 with words. */
static int ask_master(struct sampler *s, struct bytes info, int hops, struct master *master, struct trouble *t)
{
	char *host = redis_info_text(info, "master_host");
	struct redis_config config = config_of_master(s, info, host);
	struct redis_conn *conn = NULL;
	char *address = NULL;
	int result = -1;

	if (!host || hops == CHAIN_MOST) {
		trouble_set(t, hops == CHAIN_MOST ? "replicas of replicas without end" : "INFO names no master");
		goto out;
	}
	config.address = address = xprintf("%s:%d", host, config.port);
	if (redis_conn_open(s->run, &config, s->timeout_ms, &conn, t) < 0 || sampler_ask_info(conn, &info, t) < 0) {
		trouble_wrap(t, "master %s", address);
		goto out;
	}
	if (is_replica(info)) {
		result = ask_master(s, info, hops + 1, master, t);
		goto out;
	}
	master->replid = redis_info_text(info, "master_replid");
	master->offset = redis_info_number(info, "master_repl_offset");
	result = master->replid && master->offset != UNKNOWN
			 ? 0
			 : trouble_set(t, "master %s: INFO says nothing of replication", address);
out:
	redis_conn_close(conn);
	free(address);
	free(host);
	return result;
}

/* 1 passed; 0 not yet; -1 never, with words. */
static int has_passed(struct bytes info, const struct master *master, struct trouble *t)
{
	struct bytes replid = redis_info_value(info, "master_replid");
	int64_t offset = redis_info_number(info, is_replica(info) ? "slave_repl_offset" : "master_repl_offset");

	if (replid.size != strlen(master->replid) || memcmp(replid.at, master->replid, replid.size))
		return trouble_set(t, "replica and master have different histories (replid %.*s and %s)",
				   (int)replid.size, replid.at ? (const char *)replid.at : "", master->replid);
	return offset != UNKNOWN && offset >= master->offset;
}

static int wait_until_passed(struct sampler *s, const struct master *master, int64_t wait_ms, struct trouble *t)
{
	int64_t until = run_tick_us(s->run) + wait_ms * 1000;

	for (;;) {
		struct bytes info;
		int passed;

		if (sampler_ask_info(s->conn, &info, t) < 0)
			return -1;
		passed = has_passed(info, master, t);
		if (passed)
			return passed;
		if (run_stopped(s->run) || run_tick_us(s->run) > until)
			return trouble_set(
				t,
				"the replica stands at offset %lld and has not passed the master's %lld within %lld s",
				(long long)redis_info_number(info, "slave_repl_offset"), (long long)master->offset,
				(long long)(wait_ms / 1000));
		nanosleep(&(struct timespec){ .tv_nsec = NAP_US * 1000 }, NULL);
	}
}

int sampler_catch_up(struct sampler *sampler, int64_t wait_ms, const char **words, struct trouble *t)
{
	struct master master = { .offset = UNKNOWN };
	struct trouble why = { "" };
	struct bytes info;
	int passed;

	*words = NULL;
	if (sampler_ask_info(sampler->conn, &info, t) < 0)
		return trouble_wrap(t, "redis %s", sampler->redis->address);
	if (!is_replica(info))
		return 0;
	passed = ask_master(sampler, info, 0, &master, &why) < 0 ? -1
								 : wait_until_passed(sampler, &master, wait_ms, &why);
	free(master.replid);
	redis_conn_forget(sampler->conn);
	return say(sampler, words, passed > 0 ? xstrdup("passed") : xstrdup(why.text));
}
