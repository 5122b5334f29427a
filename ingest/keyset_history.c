/*
 * keyset_history: the pass over the history that fills a key set. Most records' keys lie outside the sample, so this is
 * a hash and a compare per record; only the columns that decide are decoded. Keys inside are looked up a batch at a
 * time, so that their slots are on the way from memory.
 */
#define XXH_INLINE_ALL
#include "ingest/keyset.h"

#include "sql/chunk_scan.h"
#include "sql/keyhash.h"

enum { BATCH = 64 };

/* Records [start, end) of one kind; recent where recent_all, else by timestamp. */
struct pass {
	struct chunk_place place;
	int64_t start, end;
	bool recent_all;
	int64_t recent_ms;
};

struct candidate {
	int64_t hash;
	uint32_t record;
	bool recent;
};

static size_t pick(const struct keyset *keys, const struct pass *pass, const struct chunk_view *view, size_t from,
		   size_t to, struct candidate *picked)
{
	int64_t main = keyset_main_threshold(keys), recent = keyset_recent_threshold(keys);
	size_t n = 0;

	for (size_t i = from; i < to; i++) {
		struct candidate c = { .record = (uint32_t)i };

		if (view->flags[i] & RECORD_NULL_KEY)
			continue;
		c.hash = key_hash(view->key_bytes + view->key_at[i], view->key_at[i + 1] - view->key_at[i]);
		c.recent = pass->recent_all || (view->timestamp_ms && view->timestamp_ms[i] >= pass->recent_ms);
		if (c.hash >= main && !(c.recent && c.hash < recent))
			continue;
		keyset_prefetch(keys, c.hash);
		picked[n++] = c;
	}
	return n;
}

static void note_prefixes(struct key_prefixes *prefixes, const struct chunk_part *part)
{
	const struct chunk_view *view = part->view;

	for (size_t i = part->from; i < part->to; i++)
		if (!(view->flags[i] & RECORD_NULL_KEY))
			key_prefixes_note(prefixes, view->key_bytes + view->key_at[i],
					  view->key_at[i + 1] - view->key_at[i]);
}

static void take_part(struct keyset *keys, const struct pass *pass, const struct chunk_part *part)
{
	const struct chunk_view *view = part->view;
	struct candidate picked[BATCH];

	if (key_format_prefix(keyset_prefixes(keys)->format))
		note_prefixes(keyset_prefixes(keys), part);
	for (size_t from = part->from; from < part->to; from += BATCH) {
		size_t to = part->to - from > BATCH ? from + BATCH : part->to;
		size_t n = pick(keys, pass, view, from, to, picked);

		for (size_t i = 0; i < n; i++) {
			uint32_t r = picked[i].record;

			keyset_put(keys, picked[i].hash, view->key_bytes + view->key_at[r],
				   view->key_at[r + 1] - view->key_at[r], picked[i].recent);
		}
	}
}

static int read_pass(const struct run *run, struct keyset *keys, sqlite3 *db, const struct pass *pass,
		     struct trouble *t)
{
	bool by_time = !pass->recent_all && pass->recent_ms != INT64_MAX;
	struct chunk_scan *scan;
	struct chunk_part part;
	int more;

	if (pass->start >= pass->end || (!pass->recent_all && !by_time && !keyset_main_threshold(keys)))
		return 0;
	scan = chunk_scan_new(db, CHUNK_KEY | CHUNK_FLAGS | (by_time ? CHUNK_TIMESTAMP : 0));
	chunk_scan_cut(scan, keyset_part(keys));
	chunk_scan_range(scan, pass->place, pass->start, pass->end);
	if (by_time && !keyset_main_threshold(keys))
		chunk_scan_times(scan, pass->recent_ms, INT64_MAX);
	while ((more = chunk_scan_next(scan, &part, t)) > 0) {
		take_part(keys, pass, &part);
		if (run_stopped(run)) {
			more = trouble_set(t, "stopped");
			break;
		}
	}
	chunk_scan_free(scan);
	return more;
}

int keyset_add(const struct run *run, struct keyset *keys, sqlite3 *db, const struct keyset_range *range,
	       struct trouble *t)
{
	static const enum chunk_kind kinds[] = { CHUNK_COMMITTED, CHUNK_ABORTED };
	int64_t split = range->recent_offset < range->start ? range->start
			: range->recent_offset > range->end ? range->end
							    : range->recent_offset;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct pass pass = {
			.place = { range->incarnation_id, range->partition, kinds[i] },
			.start = range->start,
			.end = split,
			.recent_ms = range->recent_ms,
		};

		if (read_pass(run, keys, db, &pass, t) < 0)
			return -1;
		pass.start = split;
		pass.end = range->end;
		pass.recent_all = true;
		if (read_pass(run, keys, db, &pass, t) < 0)
			return -1;
	}
	return 0;
}
