/*
 * fold_stream: one partition's records, in order, into the key table. Chunk by chunk, and each chunk in steps that look
 * at one thing for all of its records; what needs no key table was taken ahead.
 */
#include "analyzer/fold_state.h"

#include "sql/faultpoint.h"

static void take_placed(struct fold *f, const struct placed *placed)
{
	fold_find(f, placed);
	if (f->too_large)
		return;
	fold_thin(f, placed->count);
	fold_take(f, placed);
}

static size_t record_at(const struct chunk_part *part, int64_t offset)
{
	return chunk_at_offset(part->view, part->from, part->to, offset);
}

/* A commit that was set back leaves what an earlier run saw committed. */
static int64_t processed(const struct fold_partition *part)
{
	return part->has_horizon && part->horizon.end > part->committed ? part->horizon.end : part->committed;
}

/* Records below the log start that nobody had committed past. */
static void count_expired(struct fold *f, const struct chunk_part *part)
{
	size_t from, to;

	if (f->part->committed == UNKNOWN || f->part->log_start == UNKNOWN)
		return;
	from = record_at(part, processed(f->part));
	to = record_at(part, f->part->log_start);
	if (from >= to)
		return;
	if (f->count.expired == 0) {
		f->count.expired_first = part->view->offset[from];
		f->count.expired_first_ms = part->view->timestamp_ms[from];
	}
	f->count.expired += (int64_t)(to - from);
	f->count.expired_last = part->view->offset[to - 1];
	f->count.expired_last_ms = part->view->timestamp_ms[to - 1];
}

static void count_holes(struct fold *f, const struct chunk_part *part)
{
	const int64_t *offset = part->view->offset;
	int64_t span = offset[part->to - 1] + 1 - f->count.next;

	if (f->topic->suspect_holes && span != (int64_t)(part->to - part->from)) {
		int64_t next = f->count.next;

		for (size_t i = part->from; i < part->to; i++) {
			if (offset[i] != next)
				f->count.hole_end = offset[i];
			next = offset[i] + 1;
		}
	}
	f->count.next = offset[part->to - 1] + 1;
}

static void count_part(struct fold *f, const struct chunk_part *part)
{
	size_t waiting;

	f->count.records += (int64_t)(part->to - part->from);
	count_expired(f, part);
	count_holes(f, part);
	if (f->part->committed == UNKNOWN || f->count.waiting_ms != UNKNOWN)
		return;
	waiting = record_at(part, f->part->committed);
	if (waiting < part->to)
		f->count.waiting_ms = part->view->timestamp_ms[waiting];
}

static void begin_partition(struct fold *f)
{
	f->count = (struct partition_count){ .waiting_ms = UNKNOWN,
					     .next = f->part->first_offset,
					     .hole_end = f->part->gap_end };
	f->rejected_here = rejected_in(&f->rejected, f->part->partition);
	seen_begin(&f->seen, 0);
	ahead_begin(&f->ahead, f->part->partition);
	for (size_t i = 0; i <= f->placement.cells; i++)
		f->placement.keys[i] = 0;
}

/* One chunk. 0 or -1. */
static int take_chunk(struct fold *f, const struct placed *placed, struct fence_refs *refs, struct trouble *t)
{
	if (run_stopped(f->run))
		return trouble_set(t, "stopped");
	if (FAULT(FOLD_STREAM))
		return trouble_set(t, "partition %d cannot be read", f->part->partition);
	take_placed(f, placed);
	if (f->too_large)
		return 0;
	count_part(f, &placed->part);
	fence_at_part(f, refs, &placed->part);
	f->done += (int64_t)(placed->part.to - placed->part.from);
	run_progress(f->run, "fold", "records", f->done, f->total);
	return 0;
}

int fold_stream(struct fold *f, struct trouble *t)
{
	struct fence_refs refs = fence_refs_in(&f->refs, f->part->partition);
	const struct placed *placed;
	int more = 1;

	begin_partition(f);
	if (f->part->indexed_end == UNKNOWN || f->part->first_offset == UNKNOWN)
		return 0;
	feed_begin(f->feed, f->part, (struct feed_taker){ ahead_take, &f->ahead });
	while (more > 0 && !f->too_large) {
		more = feed_next(f->feed, &placed, t);
		if (more > 0 && take_chunk(f, placed, &refs, t) < 0)
			more = -1;
	}
	feed_end(f->feed);
	if (f->topic->suspect_holes && f->count.next < f->part->indexed_end)
		f->count.hole_end = f->part->indexed_end;
	return more < 0 ? -1 : 0;
}
