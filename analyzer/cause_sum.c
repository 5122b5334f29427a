/* cause_sum: keys, records, partitions and times of each cause, and how it stands beside the records at home. */
#include "analyzer/cause_state.h"

#include <math.h>

#include "sql/mem.h"
#include "sql/run.h"

/*
 * Records that must have come after the last one off home, in expectation, for the cause to be over: that none of them
 * is off home then has a chance of e^-14, about 1e-6.
 */
enum { EXPECTED_AFTER = 14 };

enum { RECORDS_LEAST = 20, SAMPLED_LEAST = 50 }; /* fewer say nothing of a pattern; of how often placements differ */

/* Of the records in its time, off home among them, as many as if it had placed them all. */
#define ALL_OF_THEM 0.95

/* Shared rows come last: they give times only where there are no others. */
static void add_row(struct cause *cause, const struct cause_row *row)
{
	struct cause_place *place = &cause->places[row->partition];
	bool gives = !row->shared || !place->timed;

	place->timed |= !row->shared;
	if (place->records == 0 || (gives && row->first_offset < place->first_offset)) {
		place->first_offset = row->first_offset;
		place->first_ms = row->first_ms;
	}
	if (place->records == 0 || (gives && row->last_offset > place->last_offset)) {
		place->last_offset = row->last_offset;
		place->last_ms = row->last_ms;
	}
	place->keys++;
	place->records += row->records;
	cause->keys++;
	cause->records += row->records;
}

/* Keeps those with the smallest hashes. */
static void add_sample(struct cause *cause, const struct cause_row *row)
{
	size_t place = cause->sample_n;

	while (place > 0 && cause->sample[place - 1]->hash > row->hash)
		place--;
	if (place == CAUSE_KEYS)
		return;
	if (cause->sample_n < CAUSE_KEYS)
		cause->sample_n++;
	for (size_t i = cause->sample_n - 1; i > place; i--)
		cause->sample[i] = cause->sample[i - 1];
	cause->sample[place] = row;
}

/*
 * Where off_home_key does not have every key, and everything in it is of one cause, that is so of the others, too: the
 * ends that partition_state has are the cause's.
 */
static void take_ends(const struct cause_topic *topic, struct cause *cause)
{
	for (int32_t p = 0; p < topic->partitions; p++) {
		const struct cause_partition *part = &topic->parts[p];
		struct cause_place *place = &cause->places[p];

		if (!part->off_home)
			continue;
		place->first_offset = part->first_offset;
		place->first_ms = part->first_ms;
		place->last_offset = part->last_offset;
		place->last_ms = part->last_ms;
	}
}

static void find_ends(const struct cause_topic *topic, struct cause *cause)
{
	bool timed = false;

	for (int32_t p = 0; p < topic->partitions; p++)
		timed |= cause->places[p].timed;
	cause->first_partition = cause->last_partition = -1;
	for (int32_t p = 0; p < topic->partitions; p++) {
		const struct cause_place *place = &cause->places[p];

		if (!place->records || place->timed != timed)
			continue;
		if (cause->first_partition < 0 || place->first_ms < cause->places[cause->first_partition].first_ms)
			cause->first_partition = p;
		if (cause->last_partition < 0 || place->last_ms > cause->places[cause->last_partition].last_ms)
			cause->last_partition = p;
	}
}

/* Of all keys, those that the placement puts elsewhere than home. */
static double differing(const struct cause_topic *topic, const struct cause *cause)
{
	const struct attribute_placement *at = cause->placements;
	size_t differ = 0, all = 0;

	if (!cause->placement_n)
		return 1 - 1.0 / topic->partitions;
	for (size_t i = 0; i < topic->sampled_n; i++) {
		struct key_bytes key = topic->sampled[i];
		int32_t home = placer_partition(&topic->own, key.bytes, key.len, topic->partitions);

		if (home < 0)
			continue;
		all++;
		differ += placer_partition(&at->placer, key.bytes, key.len, at->partitions) != home;
	}
	return all < SAMPLED_LEAST || !differ ? 1 - 1.0 / topic->partitions : (double)differ / (double)all;
}

/*
 * Records with a key while the cause lasted, in one partition. partition_state has that number for all records off
 * home; of a cause that was there for a part of that time, as large a part of it.
 */
static double records_during(const struct cause_partition *part, const struct cause_place *place)
{
	double all = (double)(part->last_offset - part->first_offset) + 1;

	return (double)(part->off_home + part->legal_between) *
	       ((double)(place->last_offset - place->first_offset) + 1) / all;
}

/* kept: of its records, those whose ends are known. */
static void find_pattern(const struct cause_topic *topic, struct cause *cause, double kept)
{
	double during = 0, after = 0;

	for (int32_t p = 0; p < topic->partitions; p++) {
		const struct cause_partition *part = &topic->parts[p];
		const struct cause_place *place = &cause->places[p];

		if (!place->records || !part->off_home)
			continue;
		during += records_during(part, place);
		if (part->indexed_end != UNKNOWN)
			after += (double)(part->indexed_end - place->last_offset - 1);
	}
	if (during <= 0)
		return;
	cause->density = fmin(1, (double)cause->records / during);
	cause->over = kept * cause->density * after >= EXPECTED_AFTER;
	if (cause->kind != CAUSE_PARTITIONER && cause->kind != CAUSE_PARTITION_COUNT)
		return;
	if (cause->records >= RECORDS_LEAST)
		cause->pattern = cause->density >= ALL_OF_THEM * cause->differs ? "switched" : "interleaved";
	if (topic->keyed_records)
		cause->share =
			fmin(1, (double)cause->records * cause->ratio / cause->differs / (double)topic->keyed_records);
}

/*
 * Where off_home_key does not have every key, the others are of the same causes in the same shares. Returns the part of
 * the cause's records whose ends are known.
 */
static double scale_up(const struct cause_topic *topic, struct cause *cause, const struct cause_place *kept)
{
	bool all = cause->keys == kept->keys;
	int64_t records = 0;

	for (int32_t p = 0; p < topic->partitions; p++)
		records += topic->parts[p].off_home;
	if (all)
		take_ends(topic, cause);
	cause->repeats = llround((double)cause->repeats * (double)topic->off_home_keys / (double)kept->keys);
	cause->keys = llround((double)cause->keys * (double)topic->off_home_keys / (double)kept->keys);
	cause->records = llround((double)cause->records * (double)records / (double)kept->records);
	return all ? 1 : (double)kept->records / (double)records;
}

static void sum_one(const struct cause_topic *topic, struct cause *cause)
{
	bool stale = cause->kind == CAUSE_STALE_METADATA;
	struct cause_place kept = { 0 };
	double part = 1;

	for (size_t i = 0; i < topic->row_n; i++) {
		kept.keys += topic->rows[i].stale == stale;
		kept.records += topic->rows[i].stale == stale ? topic->rows[i].records : 0;
	}
	cause->exact = kept.keys >= (stale ? topic->stale_keys : topic->off_home_keys);
	if (!cause->exact && !stale)
		part = scale_up(topic, cause, &kept);
	cause->keys -= cause->repeats;
	find_ends(topic, cause);
	cause->differs = differing(topic, cause);
	cause->share = cause->density = NAN;
	if (!stale)
		find_pattern(topic, cause, part);
}

static void add_rows(struct cause_topic *topic, bool shared)
{
	for (size_t i = 0; i < topic->row_n; i++) {
		const struct cause_row *row = &topic->rows[i];

		if (row->cause == NO_CAUSE || row->shared != shared)
			continue;
		add_row(&topic->causes[row->cause], row);
		add_sample(&topic->causes[row->cause], row);
	}
}

void cause_sum(struct cause_topic *topic)
{
	for (size_t i = 0; i < topic->cause_n; i++)
		topic->causes[i].places = xarray((size_t)topic->partitions, sizeof(*topic->causes[i].places));
	add_rows(topic, false);
	add_rows(topic, true);
	for (size_t i = 0; i < topic->cause_n; i++)
		sum_one(topic, &topic->causes[i]);
}
