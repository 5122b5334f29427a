/* looks: log starts, watermarks, commits and the group, each with its time. */
#include "ingest/looks.h"

#include <stdlib.h>

#include "sql/mem.h"

static struct offset_query *queries_for(const struct topic_history *history)
{
	struct offset_query *queries = xarray((size_t)history->partitions, sizeof(*queries));

	for (int32_t p = 0; p < history->partitions; p++)
		queries[p] = (struct offset_query){
			.topic = history->topic, .partition = p, .offset = UNKNOWN, .at_us = UNKNOWN
		};
	return queries;
}

static void keep(struct look *look, const struct offset_query *query)
{
	look->value = query->offset;
	look->at_us = query->at_us;
	look->trouble = query->trouble;
}

/* A topic of which nothing is known yet has no commits read at step 2, even where a later look at it succeeds. */
static int tell_trouble(struct plan *plan, const struct lane *lane, struct subject *subject, struct trouble *t)
{
	const struct topic_history *history = subject_history(lane, subject);

	if (!history->trouble.text[0])
		return 0;
	subject->told = true;
	return plan_trouble(plan, "replay", lane, subject, UNKNOWN, &history->trouble, t);
}

int looks_first(struct plan *plan, struct lane *lane, struct trouble *t)
{
	for (size_t i = 0; i < lane->count; i++) {
		struct subject *subject = &lane->subjects[i];
		const struct topic_history *history = subject_history(lane, subject);

		if (tell_trouble(plan, lane, subject, t) < 0)
			return -1;
		subject_grow(subject, history);
		for (int32_t p = 0; p < history->partitions; p++) {
			const struct topic_part *part = &history->parts[p];

			subject->looks[p].first_log_start =
				(struct look){ .value = part->log_start, .at_us = part->log_start_us };
			subject->looks[p].first_end = (struct look){ .value = part->end, .at_us = part->end_us };
		}
	}
	return 0;
}

/* Where in partition_looks an answer goes. */
static struct look *place_of(struct partition_looks *looks, enum offset_kind kind, bool last)
{
	if (kind == OFFSET_LOG_START)
		return &looks->log_start;
	return last ? &looks->last_high_watermark : &looks->high_watermark;
}

static int read_offsets(const struct lane *lane, struct subject *subject, enum offset_kind kind, bool last,
			struct trouble *t)
{
	const struct topic_history *history = subject_history(lane, subject);
	struct offset_query *queries = queries_for(history);
	struct source *source = lane->cluster->source;
	int result = source->ops->offsets(source, kind, queries, (size_t)history->partitions, t);

	for (int32_t p = 0; result == 0 && p < history->partitions; p++)
		keep(place_of(&subject->looks[p], kind, last), &queries[p]);
	free(queries);
	return result;
}

static int read_commits(const struct lane *lane, struct subject *subject, struct trouble *t)
{
	const struct topic_history *history = subject_history(lane, subject);
	struct source *source = lane->cluster->source;
	struct offset_query *queries;
	int result;

	if (subject->role != ROLE_SOURCE || !lane->pipeline->group)
		return 0;
	queries = queries_for(history);
	result = source->ops->commits(source, lane->pipeline->group, queries, (size_t)history->partitions, t);
	for (int32_t p = 0; p < history->partitions; p++) {
		keep(&subject->looks[p].commit, &queries[p]);
		if (result < 0)
			subject->looks[p].commit.trouble = *t;
	}
	free(queries);
	return result;
}

int looks_before_sampling(struct plan *plan, struct lane *lane, struct trouble *t)
{
	struct source *source = lane->cluster->source;

	for (size_t i = 0; i < lane->count; i++)
		subject_grow(&lane->subjects[i], subject_history(lane, &lane->subjects[i]));
	for (size_t i = 0; i < lane->count; i++)
		if (read_offsets(lane, &lane->subjects[i], OFFSET_LOG_START, false, t) < 0 ||
		    (lane->subjects[i].role != ROLE_DLQ &&
		     read_offsets(lane, &lane->subjects[i], OFFSET_HIGH_WATERMARK, false, t) < 0))
			return trouble_wrap(t, "read the ends before the commits");
	for (size_t i = 0; i < lane->count; i++)
		if (read_commits(lane, &lane->subjects[i], t) < 0)
			return trouble_wrap(t, "read the commits of group %s", lane->pipeline->group);
	/* A DLQ's after them: what was rejected below the commits lies below it. */
	for (size_t i = 0; i < lane->count; i++)
		if (lane->subjects[i].role == ROLE_DLQ &&
		    read_offsets(lane, &lane->subjects[i], OFFSET_HIGH_WATERMARK, false, t) < 0)
			return trouble_wrap(t, "read the ends of the DLQ");
	if (!lane->pipeline->group)
		return 0;
	if (source->ops->group(source, lane->pipeline->group, &lane->group, t) < 0)
		return trouble_wrap(t, "describe group %s", lane->pipeline->group);
	if (lane->group.trouble.text[0])
		run_note(plan->run, "group %s: state not known: %s", lane->pipeline->group, lane->group.trouble.text);
	return 0;
}

int looks_last(struct plan *plan, struct lane *lane, struct trouble *t)
{
	(void)plan;
	for (size_t i = 0; i < lane->count; i++) {
		struct subject *subject = &lane->subjects[i];

		subject_grow(subject, subject_history(lane, subject));
		if (read_offsets(lane, subject, OFFSET_HIGH_WATERMARK, true, t) < 0)
			return trouble_wrap(t, "read the last high watermarks");
	}
	return 0;
}

static int from_time(const struct lane *lane, struct subject *subject, struct trouble *t)
{
	const struct topic_history *history = subject_history(lane, subject);
	struct offset_query *queries = queries_for(history);
	struct source *source = lane->cluster->source;
	int result;

	for (int32_t p = 0; p < history->partitions; p++)
		queries[p].time_ms = lane->pipeline->from_us / 1000;
	result = source->ops->offsets(source, OFFSET_AT_TIME, queries, (size_t)history->partitions, t);
	for (int32_t p = 0; result == 0 && p < history->partitions; p++) {
		if (queries[p].trouble.text[0])
			result = trouble_set(t, "partition %d: %s", (int)p, queries[p].trouble.text);
		subject->looks[p].from = queries[p].offset;
	}
	free(queries);
	return result < 0 ? trouble_wrap(t, "find the offsets of from") : 0;
}

int looks_from(struct plan *plan, struct lane *lane, struct trouble *t)
{
	const struct pipeline_config *pipeline = lane->pipeline;

	(void)plan;
	for (size_t i = 0; i < lane->count; i++) {
		struct subject *subject = &lane->subjects[i];

		subject_grow(subject, subject_history(lane, subject));
		if (subject->role != ROLE_SOURCE)
			continue;
		if (pipeline->from == FROM_TIME && from_time(lane, subject, t) < 0)
			return -1;
		for (size_t j = 0; pipeline->from == FROM_OFFSETS && j < pipeline->from_offset_count; j++)
			if (pipeline->from_offsets[j].partition < subject->look_count)
				subject->looks[pipeline->from_offsets[j].partition].from =
					pipeline->from_offsets[j].offset;
	}
	return 0;
}
