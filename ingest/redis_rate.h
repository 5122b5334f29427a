/*
 * redis_rate: a token bucket, so that an audit stays polite to the server it reads. Keys are the tokens; a tenth of a
 * second's may be taken at once.
 */
#ifndef INGEST_REDIS_RATE_H
#define INGEST_REDIS_RATE_H

#include <stdint.h>

#include "sql/run.h"

struct redis_rate {
	int64_t per_second; /* 0: unlimited */
	int64_t at_us;      /* tick until which what was taken is paid for */
};

void redis_rate_init(struct redis_rate *rate, const struct run *run, int64_t per_second);

/* Waits until keys may be taken; ends early when the run is to stop. */
void redis_rate_take(struct redis_rate *rate, const struct run *run, int64_t keys);

/* How many keys to ask for at once: 1,000, less where the rate is low. */
int64_t redis_rate_page(const struct redis_rate *rate);

#endif
