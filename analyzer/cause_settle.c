/* cause_settle: rows that more than one cause could have put where they are. */
#include "analyzer/cause_state.h"

#include <math.h>

#include "analyzer/rival.h"

/* ln 100: earlier counts are there, so that less is asked of them than of a hypothesis. */
#define STALE_BOUND 4.6

/* The found cause that puts the row where it is as well, or NO_CAUSE. */
static uint8_t found_of(const struct cause_topic *topic, const struct cause_row *row)
{
	for (size_t i = 0; i < topic->cause_n; i++) {
		const struct attribute_placement *at = topic->causes[i].placements;

		if (placer_partition(&at->placer, row->key.bytes, row->key.len, at->partitions) == row->partition)
			return (uint8_t)i;
	}
	return NO_CAUSE;
}

size_t cause_settle_stale(struct cause_topic *topic)
{
	size_t own[ATTRIBUTE_CAUSES] = { 0 }, alone = 0, left = 0, stale = 0;
	double luck = fmin(0.5, (double)topic->known_n / topic->partitions);

	for (size_t i = 0; i < topic->row_n; i++) {
		const struct cause_row *row = &topic->rows[i];

		if (row->stale)
			alone += found_of(topic, row) == NO_CAUSE;
		else if (row->cause != NO_CAUSE)
			own[row->cause]++;
		else
			left += row->key.len > 0;
	}
	for (size_t i = 0; i < topic->row_n; i++) {
		struct cause_row *row = &topic->rows[i];
		uint8_t found = row->stale ? found_of(topic, row) : NO_CAUSE;

		if (found != NO_CAUSE && own[found] >= alone)
			row->cause = found;
		stale += row->stale && row->cause == NO_CAUSE;
	}
	return left && rival_score((double)stale, (double)(stale + left), luck) <= STALE_BOUND ? 0 : stale;
}

void cause_mark_shared(struct cause_topic *topic)
{
	for (size_t i = 0; i < topic->row_n; i++) {
		struct cause_row *row = &topic->rows[i];
		size_t explain = 0;

		for (size_t j = 0; j < topic->cause_n && row->cause != NO_CAUSE; j++) {
			const struct attribute_placement *at = topic->causes[j].placements;

			explain += placer_partition(&at->placer, row->key.bytes, row->key.len, at->partitions) ==
				   row->partition;
		}
		row->shared = explain > 1;
	}
}
