/* sampler: opens and closes the look at one Redis server. */
#include "ingest/sampler.h"

#include <stdlib.h>

#include "sql/mem.h"

int sampler_open(const struct run *run, const struct redis_config *redis, int64_t timeout_ms, struct sampler **sampler,
		 struct trouble *t)
{
	struct sampler *s = xalloc(sizeof(*s));

	*sampler = NULL;
	s->run = run;
	s->redis = redis;
	s->timeout_ms = timeout_ms;
	s->server_keys = UNKNOWN;
	s->field_ttl = FIELD_TTL_ASK;
	redis_rate_init(&s->rate, run, redis->rate);
	if (redis_conn_open(run, redis, timeout_ms, &s->conn, t) < 0) {
		free(s);
		return trouble_wrap(t, "redis %s", redis->address);
	}
	*sampler = s;
	return 0;
}

void sampler_close(struct sampler *sampler)
{
	if (!sampler)
		return;
	redis_conn_close(sampler->conn);
	free(sampler->replica_words);
	free(sampler);
}

int64_t sampler_server_keys(const struct sampler *sampler)
{
	return sampler->server_keys;
}
