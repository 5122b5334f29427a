/*
 * placed: the records of one chunk that have a key, each with the hash of its key and with what its partition is to the
 * key. All of it follows from the record alone, whatever came before it, so that it can be worked out ahead.
 */
#ifndef ANALYZER_PLACED_H
#define ANALYZER_PLACED_H

#include <stddef.h>
#include <stdint.h>

#include "analyzer/topic.h"
#include "sql/chunk_scan.h"

/* placement.legal, and but for the last fence_state.fence_legal and the like, from the ordinal of a count. */
enum legal { LEGAL_NOT, LEGAL_HOME, LEGAL_OLDER, LEGAL_STALE, LEGAL_COUNT };

static inline enum legal legal_of(int32_t ordinal)
{
	return ordinal < 0 ? LEGAL_NOT : ordinal == 0 ? LEGAL_HOME : LEGAL_OLDER;
}

/* Records and distinct keys of one partition, by home and enum legal: [home * LEGAL_COUNT + legal]. */
struct placement {
	int64_t *records, *keys;
	size_t cells;            /* 0: the partition count is not known; one more is there for keys without a home */
};

/* Where records are placed: the partition, and the cells that it has. */
struct placed_in {
	const struct fold_topic *topic;
	const struct fold_partition *part;
	size_t cells;
};

/* A record off home: which one, and how many records with a home come before it in the chunk. */
struct placed_mark {
	size_t index, homed;
};

/* Initialise; release. The arrays have an element per record with a key, CHUNK_RECORDS_MAX at most. */
struct placed {
	struct chunk_part part;  /* borrowed from the scan */
	size_t count;
	uint32_t *record;        /* index in part.view */
	int64_t *hash;           /* key_hash of the key */
	uint32_t *cell;          /* in struct placement */
	int16_t *ordinal;        /* of the first count under which it is at home here; -1: under none */
	uint8_t *legal;          /* enum legal */
	uint32_t *strays;        /* indices of those that are LEGAL_NOT, or LEGAL_STALE, and have a home */
	size_t stray_n;
	size_t homed;            /* records with a key that has a home */
	size_t off_home;         /* of the strays those that are LEGAL_NOT */
	struct placed_mark first, last; /* of them; where there are any */
	size_t null_keys, no_part; /* records without a key; with a key that has no such part (RECORD_NO_PART) */
};

void placed_init(struct placed *placed);
void placed_release(struct placed *placed);

/* Fills placed with the part's records. */
void placed_fill(struct placed *placed, const struct placed_in *in, const struct chunk_part *part);

static inline uint32_t placed_home(const struct placed *placed, size_t index)
{
	return placed->cell[index] / LEGAL_COUNT;
}

static inline const uint8_t *placed_key(const struct placed *placed, size_t index, uint32_t *size)
{
	const struct chunk_view *view = placed->part.view;
	uint32_t i = placed->record[index];

	*size = view->key_at[i + 1] - view->key_at[i];
	return view->key_bytes + view->key_at[i];
}

#endif
