/*
 * fold_state: the fold of one topic while it is at work, shared by the files fold*.c and fence_at.c.
 */
#ifndef ANALYZER_FOLD_STATE_H
#define ANALYZER_FOLD_STATE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/ahead.h"
#include "analyzer/feed.h"
#include "analyzer/keytable.h"
#include "analyzer/placed.h"
#include "analyzer/rebase.h"
#include "analyzer/rejected.h"
#include "analyzer/seen.h"
#include "analyzer/topic.h"
#include "sql/chunk_scan.h"
#include "sql/run.h"
#include "sql/trouble.h"

/* Where a fence stands, so that the pass over its partition meets it. */
struct fence_ref {
	int32_t partition;
	uint32_t entry;
	int64_t offset;
};

struct fence_refs {
	struct fence_ref *at; /* sorted by partition and offset */
	size_t count;
};

/* What the pass counts of one partition. */
struct partition_count {
	int64_t records;
	int64_t hole_end;        /* of the last hole from which a record may be gone; 0: none */
	int64_t waiting_ms;      /* of the first record at or above the commit; UNKNOWN */
	int64_t expired, expired_first, expired_last, expired_first_ms, expired_last_ms;
	int64_t next;            /* offset after the last record met */
};

/* Records of sampled keys: those that the contract applies, sends to the DLQ, and never sees. */
struct taken {
	int64_t accepted, refused, ignored;
};

/* Keys that are sampled of a topic without fences, at most: they only tell of moves between partitions. */
enum { UNFENCED_KEYS = 100000 };

struct fold {
	const struct run *run;
	sqlite3 *db;
	struct fold_topic *topic;
	struct keytable table;
	struct seen seen;
	struct rejected rejected;
	struct fence_refs refs;
	struct placement placement;
	struct feed *feed;       /* the passes over whole partitions */
	struct ahead ahead;      /* the feed's between feed_begin and feed_end */
	struct chunk_scan *scan; /* all other reading of history */
	struct pool steps;       /* struct rebase_step */
	size_t steps_of_key;     /* of the key of the last step */
	uint32_t *place;         /* of the chunk at hand, by the index in struct placed: in the table, or NOBODY */
	uint32_t *some;          /* indices of some of its records, for the step at work */
	uint64_t *filter;        /* bits by hash: the table may have it */
	size_t filter_bits;      /* a power of two */
	size_t memory, budget;   /* bytes for table and seen together; those for the table */
	bool too_large;          /* the sample does not fit */
	bool halved;             /* a threshold was halved */
	int64_t null_keys, done, total;
	size_t *first_place;     /* per part of the topic, and one more: its places in the table begin here */
	size_t looked_entries;   /* entries with a sample: the first of the table */
	int64_t lowest_state;    /* the lowest state_id that other topics have, at most 0 */
	int64_t loaded_keys, recent_keys; /* samples; those of them that are in the recent stratum alone */
	struct taken taken[64];  /* by the bits that are clear at the top of the key's hash */
	int64_t keyed;           /* records that have a key */
	/* The partition at hand. */
	struct fold_partition *part;
	struct partition_count count;
	struct rejected_span rejected_here;
};

/* --- fold_stream.c, fold_find.c, fold_take.c, fold_thin.c, fold_again.c --- */

/* Reads the committed records of f->part, in one pass. 0 also when f->too_large; -1 trouble. */
int fold_stream(struct fold *f, struct trouble *t);

/*
 * Finds the places of the keys of a chunk's records, for f->place, and makes those that are missing; counts the distinct
 * keys of the partition. Stops where f->too_large.
 */
void fold_find(struct fold *f, const struct placed *placed);

/* The place of one record's key, by its bytes; f->place may name that of another key with the same hash. */
uint32_t fold_find_exactly(struct fold *f, const struct placed *placed, size_t index);

/* Adds the records of sampled keys to their places: all those that have one in f->place. */
void fold_take(struct fold *f, const struct placed *placed);

/*
 * Where a topic without fences shows more keys than UNFENCED_KEYS, halves its threshold until they are no more, and
 * forgets the others. f->place, of count records, stays right.
 */
void fold_thin(struct fold *f, size_t count);

/* Further passes for the distinct keys that the first one had no room for; then f->placement is whole. 0 or -1. */
int fold_placement(struct fold *f, struct trouble *t);

/* Reads f->part again where it may have hot keys, and counts them; afterwards f->hot holds those alone. 0 or -1. */
int fold_hot(struct fold *f, struct trouble *t);

/* --- fence_at.c --- */

/* Sorts the fences of the table by place. */
void fence_refs_init(struct fence_refs *refs, const struct keytable *table);
void fence_refs_release(struct fence_refs *refs);

/* The fences that stand in a partition. */
struct fence_refs fence_refs_in(const struct fence_refs *refs, int32_t partition);

/* Fences below the end of the part meet its records; *refs moves on behind them. */
void fence_at_part(struct fold *f, struct fence_refs *refs, const struct chunk_part *part);

/* After the pass: what the fences stand on that met no committed record. 0 or -1. */
int fence_at_rest(struct fold *f, struct trouble *t);

/* Keys with a fence and without a record: looks for them among aborted records and earlier incarnations. 0 or -1. */
int fence_elsewhere(struct fold *f, struct trouble *t);

/* --- fold_write.c --- */

/* Placement and partition state of f->part. 0 or -1. */
int fold_write_partition(struct fold *f, struct trouble *t);

/* Key states, fence states, off-home keys, counts and the topic's state, after all partitions. 0 or -1. */
int fold_write_topic(struct fold *f, struct trouble *t);

/* --- fold_write_state.c --- */

/* Whether fence_state tells all of the entry's history: it was looked at, and its one place is its home. */
bool fold_is_at_home(const struct fold *f, const struct key_entry *entry);

/* Fence states, keys that were not looked at, and rebase steps of a topic with fences. 0 or -1. */
int fold_write_states(struct fold *f, struct trouble *t);

#endif
