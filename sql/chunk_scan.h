/*
 * chunk_scan: the records of one partition in the order of their offsets, chunk by chunk, out of the index. What the
 * fold, the key set and the virtual tables read history with.
 *
 *     scan = chunk_scan_new(db, CHUNK_KEY | CHUNK_FLAGS);
 *     chunk_scan_range(scan, (struct chunk_place){ incarnation_id, partition, CHUNK_COMMITTED }, start, end);
 *     while ((more = chunk_scan_next(scan, &part, t)) > 0)
 *             for (size_t i = part.from; i < part.to; i++)
 *                     use(part.view->offset[i]);
 *     if (more < 0)
 *             return -1;
 *
 * The last chunk stays decoded, so ranges asked for in rising order cost one decode per chunk. No statement stays open
 * between the calls. A scan must not outlive changes to the chunks it has read: make it anew after them.
 */
#ifndef SQL_CHUNK_SCAN_H
#define SQL_CHUNK_SCAN_H

#include <stdint.h>

#include "sql/chunk.h"
#include "sql/keypart.h"
#include "sql/sqlite.h"
#include "sql/trouble.h"

struct chunk_scan;

struct chunk_place {
	int64_t incarnation_id;
	int64_t partition;
	enum chunk_kind kind;
};

/* Records [from, to) of view lie in the range. Borrowed until the next call on the scan. */
struct chunk_part {
	const struct chunk_view *view;
	size_t from, to;
};

/* columns: enum chunk_columns; CHUNK_OFFSET is always read. */
struct chunk_scan *chunk_scan_new(sqlite3 *db, unsigned columns);
void chunk_scan_free(struct chunk_scan *scan);

/*
 * From now on keys are that part of themselves: many windows of one key are one key. A key that has no such part, being
 * too short for it, is delivered as a null key, with RECORD_NO_PART besides. Wants CHUNK_KEY and CHUNK_FLAGS.
 */
void chunk_scan_cut(struct chunk_scan *scan, enum keypart part);

/* Begins over: the records of place in [start, end). */
void chunk_scan_range(struct chunk_scan *scan, struct chunk_place place, int64_t start, int64_t end);

/*
 * Chunks without a record in [start_ms, end_ms) are skipped; the ones read may hold others too. INT64_MAX is no end.
 * Until the next chunk_scan_range.
 */
void chunk_scan_times(struct chunk_scan *scan, int64_t start_ms, int64_t end_ms);

/* 1 with a part that is not empty; 0 at the end; -1 with words that name the damaged chunk. */
int chunk_scan_next(struct chunk_scan *scan, struct chunk_part *part, struct trouble *t);

/*
 * Record by record: keeps part->from at a record that was not looked at yet, going to the next chunk when from has come
 * to to. Zero part first. 1, 0 or -1 like chunk_scan_next.
 */
static inline int chunk_scan_peek(struct chunk_scan *scan, struct chunk_part *part, struct trouble *t)
{
	return part->from < part->to ? 1 : chunk_scan_next(scan, part, t);
}

/* How many chunks the scan has decoded so far. */
int64_t chunk_scan_decoded(const struct chunk_scan *scan);

#endif
