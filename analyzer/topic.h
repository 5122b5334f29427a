/*
 * topic: what the fold needs to know of one topic of one pipeline, out of the facts of the run: the rules of the
 * pipeline, the partition counts that the topic has had, the horizons.
 */
#ifndef ANALYZER_TOPIC_H
#define ANALYZER_TOPIC_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/placer.h"
#include "sql/run.h"
#include "sql/trouble.h"

struct fold_partition {
	int32_t partition;
	struct horizon horizon;  /* empty where the partition has none */
	bool has_horizon, covered;
	int64_t indexed_end;     /* UNKNOWN: nothing of it was indexed */
	int64_t first_offset;    /* where indexing began; UNKNOWN likewise */
	int64_t from;            /* the config's "from"; 0: the beginning */
	bool from_sure;          /* records from there on cannot have been gone before indexing began */
	int64_t committed, log_start; /* C and the log start read before it; UNKNOWN */
	int64_t aborted;         /* records */
	int64_t gap_end;         /* end of the last gap_range; 0: none */
	/* Per count: below this offset a binding record is certain; INT64_MAX for the present count. */
	int64_t *certain;
	/* Per count: from this offset on, a record at home under it alone is stale: its producer should have known better. */
	int64_t *stale_from;
};

/* X(NAME, word): who knew that the topic had an earlier count: the config, a run, the history alone. */
#define RESIZE_SOURCES(X) X(CONFIG, "config") X(RUN, "run") X(HISTORY, "history")

#define RESIZE_SOURCE_ENUM(name, word) RESIZE_##name,
enum resize_source { RESIZE_SOURCES(RESIZE_SOURCE_ENUM) };

/* A change of the partition count, to the next one above; see table topic_resize. */
struct fold_resize {
	int32_t from, to;
	enum resize_source source;
	int32_t begin_partition; /* of the first record at or above from; -1: none */
	int64_t begin_ms, begin_offset, end_ms; /* UNKNOWN */
	bool begin_late;
	int64_t proof_keys, proof_from, proof_alone; /* RESIZE_HISTORY only */
};

struct fold_topic {
	int64_t run_id, topic_id, pipeline_id, incarnation_id; /* incarnation_id UNKNOWN: the topic could not be read */
	char *name, *pipeline;
	bool source;             /* and not one that it is co-partitioned with */
	bool fenced;             /* a source topic of a pipeline with Redis: it has samples */
	bool counts, sums, lasts; /* state = count, sum, last */
	bool delete_tombstones, ignore_tombstones;
	bool rejects_dlq;
	bool suspect_holes;      /* a record may be gone from any hole: compacted, or a policy that nobody could read */
	enum keypart key_part;   /* what of a record key is its key here; all readers of the history cut it */
	struct placer placer;    /* where its keys are at home */
	int64_t hot_share;       /* in thousandths of a partition's records: a key is hot; UNKNOWN: not judged */
	int64_t threshold, recent_threshold, recent_from_ms; /* recent_from_ms INT64_MAX: no recent stratum */
	int32_t *count;          /* partition counts, the present one first; count[0] is -1 where it is not known */
	size_t count_n;
	struct fold_partition *parts; /* ascending by partition */
	size_t part_n;
	struct fold_resize *resizes; /* filled in by resize_find, the latest first */
	size_t resize_n;
};

/* The topics that a run folds, in a fixed order. */
struct fold_topics {
	struct fold_topic *items;
	size_t n;
};

/* Reads them all. 0 or -1; release in either case. */
int fold_topics_load(const struct run *run, sqlite3 *db, struct fold_topics *topics, struct trouble *t);
void fold_topics_release(struct fold_topics *topics);

/* The ordinal of the first count under which a key of that dividend is at home in the partition, or -1. */
static inline int32_t fold_topic_ordinal(const struct fold_topic *topic, uint32_t dividend, int32_t partition)
{
	for (size_t i = 0; i < topic->count_n; i++)
		if (topic->count[i] > 0 && dividend % (uint32_t)topic->count[i] == (uint32_t)partition)
			return (int32_t)i;
	return -1;
}

/* The partition's part, or NULL. */
struct fold_partition *fold_topic_part(const struct fold_topic *topic, int32_t partition);

#endif
