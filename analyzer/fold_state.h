/*
 * fold_state: the fold of one topic while it is at work, shared by the files fold*.c and fence_at.c.
 */
#ifndef ANALYZER_FOLD_STATE_H
#define ANALYZER_FOLD_STATE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/hot.h"
#include "analyzer/keytable.h"
#include "analyzer/offhome.h"
#include "analyzer/rebase.h"
#include "analyzer/rejected.h"
#include "analyzer/seen.h"
#include "analyzer/topic.h"
#include "sql/chunk_scan.h"
#include "sql/run.h"
#include "sql/trouble.h"

/* placement.legal, and but for the last fence_state.fence_legal and the like, from the ordinal of a count. */
enum legal { LEGAL_NOT, LEGAL_HOME, LEGAL_OLDER, LEGAL_STALE, LEGAL_COUNT };

static inline enum legal legal_of(int32_t ordinal)
{
	return ordinal < 0 ? LEGAL_NOT : ordinal == 0 ? LEGAL_HOME : LEGAL_OLDER;
}

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
	int64_t records, null_keys;
	int64_t hole_end;        /* of the last hole from which a record may be gone; 0: none */
	int64_t waiting_ms;      /* of the first record at or above the commit; UNKNOWN */
	int64_t expired, expired_first, expired_last, expired_first_ms, expired_last_ms;
	int64_t homeless;        /* records whose key has no home */
	int64_t off_home, off_home_first, off_home_last, off_home_first_ms, off_home_last_ms;
	int64_t legal, legal_between; /* other records with a home since the first off home; up to the last */
	int64_t next;            /* offset after the last record met */
};

/* Records and distinct keys of the partition at hand, by home and enum legal: [home * LEGAL_COUNT + legal]. */
struct placement {
	int64_t *records, *keys;
	size_t cells;            /* 0: the partition count is not known; one more is there for keys without a home */
};

/* Keys that are sampled of a topic without fences, at most: they only tell of moves between partitions. */
enum { UNFENCED_KEYS = 100000 };

struct fold {
	const struct run *run;
	sqlite3 *db;
	struct fold_topic *topic;
	struct keytable table;
	struct seen seen;
	struct offhome offhome;
	struct rejected rejected;
	struct fence_refs refs;
	struct placement placement;
	struct chunk_scan *scan;
	struct pool steps;       /* struct rebase_step */
	size_t steps_of_key;     /* of the key of the last step */
	struct hot hot;          /* of the partition at hand */
	uint64_t *filter;        /* bits by hash: the table may have it */
	size_t filter_bits;      /* a power of two */
	int64_t *hash;           /* of the chunk at hand */
	uint32_t *dividend;      /* likewise: modulo a partition count it is the home */
	bool *homeless;          /* likewise: the key has no home */
	size_t memory, budget;   /* bytes for table and seen together; those for the table */
	bool too_large;          /* the sample does not fit */
	bool too_many;           /* likewise, because the topic has no fences and more than UNFENCED_KEYS */
	bool halved;             /* a threshold was halved */
	int64_t null_keys, done, total;
	size_t *first_place;     /* per part of the topic, and one more: its places in the table begin here */
	size_t looked_entries;   /* entries with a sample: the first of the table */
	int64_t lowest_state;    /* the lowest state_id that other topics have, at most 0 */
	int64_t loaded_keys, recent_keys; /* samples; those of them that are in the recent stratum alone */
	/* Records of sampled keys: those that the contract applies, sends to the DLQ, and never sees; all that have a key. */
	int64_t accepted, refused, ignored, keyed;
	/* The partition at hand. */
	struct fold_partition *part;
	struct partition_count count;
	struct rejected_span rejected_here;
};

/* --- fold_stream.c, fold_again.c --- */

/* Reads the committed records of f->part. 0 also when f->too_large; -1 trouble. */
int fold_stream(struct fold *f, struct trouble *t);

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
