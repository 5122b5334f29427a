/* redis_rate: the bucket is a time: the tick at which all keys taken so far are paid for. */
#include "ingest/redis_rate.h"

#include <time.h>

enum { BURST_US = 100000, NAP_US = 100000, PAGE_MOST = 1000, PAGE_LEAST = 10 };

void redis_rate_init(struct redis_rate *rate, const struct run *run, int64_t per_second)
{
	*rate = (struct redis_rate){ .per_second = per_second, .at_us = run_tick_us(run) };
}

void redis_rate_take(struct redis_rate *rate, const struct run *run, int64_t keys)
{
	int64_t now = run_tick_us(run), wait;

	if (!rate->per_second)
		return;
	if (rate->at_us < now)
		rate->at_us = now;
	rate->at_us += (int64_t)((double)keys * 1e6 / (double)rate->per_second);
	while ((wait = rate->at_us - BURST_US - run_tick_us(run)) > 0 && !run_stopped(run))
		nanosleep(&(struct timespec){ .tv_nsec = (wait < NAP_US ? wait : NAP_US) * 1000 }, NULL);
}

int64_t redis_rate_page(const struct redis_rate *rate)
{
	int64_t page = rate->per_second / 10;

	return !rate->per_second || page > PAGE_MOST ? PAGE_MOST : page < PAGE_LEAST ? PAGE_LEAST : page;
}
