/* stream_histogram: a table of counters. */
#include "ingest/stream_histogram.h"

#include <stdlib.h>

#include "sql/mem.h"

void stream_histogram_add(struct stream_histogram *histogram, int64_t idle_ms, int64_t deliveries)
{
	int idle = idle_ms < 1 ? 0 : 64 - __builtin_clzll((unsigned long long)idle_ms);
	int64_t most = HISTOGRAM_DELIVERIES - 1;

	if (!histogram->cells)
		histogram->cells = xarray(HISTOGRAM_IDLES, sizeof(*histogram->cells));
	histogram->cells[idle][deliveries < 0 ? 0 : deliveries < most ? deliveries : most]++;
}

void stream_histogram_release(struct stream_histogram *histogram)
{
	free(histogram->cells);
	histogram->cells = NULL;
}
