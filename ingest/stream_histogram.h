/* stream_histogram: how many entries of a group are pending, by idle time and number of deliveries. */
#ifndef INGEST_STREAM_HISTOGRAM_H
#define INGEST_STREAM_HISTOGRAM_H

#include <stdint.h>

enum {
	HISTOGRAM_IDLES = 64,       /* below one ms, then floor(log2(ms)) from 0 */
	HISTOGRAM_DELIVERIES = 101, /* the last is "or more" */
};

struct stream_histogram {
	int64_t (*cells)[HISTOGRAM_DELIVERIES]; /* NULL: all zero */
};

/* idle_ms below one, which is also how an entry in nobody's hands is shown, counts as below one. */
void stream_histogram_add(struct stream_histogram *histogram, int64_t idle_ms, int64_t deliveries);
void stream_histogram_release(struct stream_histogram *histogram);

#endif
