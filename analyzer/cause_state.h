/*
 * cause_state: one topic while its causes are sought: cause.c reads it and finds them, cause_sum.c says how much of the
 * topic each is and when it was, cause_write.c writes them down.
 */
#ifndef ANALYZER_CAUSE_STATE_H
#define ANALYZER_CAUSE_STATE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/attribute.h"
#include "analyzer/pool.h"
#include "sql/trouble.h"

/* X(NAME, word) */
#define CAUSE_KINDS(X)                        \
	X(PARTITIONER, "partitioner")         \
	X(PARTITION_COUNT, "partition-count") \
	X(STALE_METADATA, "stale-metadata")   \
	X(EMPTY_KEY, "empty-key")             \
	X(NOT_THE_KEY, "not-the-key")         \
	X(UNKNOWN, "unknown")

#define CAUSE_ENUM(name, word) CAUSE_##name,
enum cause_kind { CAUSE_KINDS(CAUSE_ENUM) CAUSE_KIND_COUNT };

enum { CAUSES_MOST = ATTRIBUTE_CAUSES + 4, CAUSE_KEYS = 5, NO_CAUSE = 255 };

/* A row of off_home_key. */
struct cause_row {
	int64_t hash, records, first_offset, last_offset, first_ms, last_ms;
	struct key_bytes key; /* in the topic's arena */
	int32_t partition, home;
	uint8_t cause; /* index, or NO_CAUSE */
	bool stale;
	bool shared; /* another cause explains it as well: it says nothing of when */
};

/* What a cause did in one partition; records 0: nothing. */
struct cause_place {
	int64_t keys, records, first_offset, last_offset, first_ms, last_ms;
	bool timed; /* by rows that are not shared */
};

struct cause {
	enum cause_kind kind;
	const char *confidence, *sign;
	struct attribute_placement *placements; /* owned; the first is by which it goes */
	size_t placement_n, more, classes;
	size_t tested, hypotheses;
	double ratio; /* of its records, how many are its own: less than 1 where another cause or luck explains
	                          * some of them too, more where an earlier cause took some */
	struct cause_place *places; /* of each partition; owned */
	int64_t keys, records;
	int64_t repeats; /* rows of a key that another row of the cause has: not counted in keys */
	int32_t first_partition, last_partition;
	double share, differs, density; /* NAN: not known */
	const char *pattern;
	bool over, exact;
	const struct cause_row *sample[CAUSE_KEYS];
	size_t sample_n;
};

/* A row of partition_state with what follows it. */
struct cause_partition {
	int64_t off_home, first_offset, first_ms, last_offset, last_ms, legal_between;
	int64_t indexed_end; /* UNKNOWN */
};

struct cause_topic {
	int64_t topic_id;
	char *name, *pipeline;
	struct placer own;
	enum keypart right_part; /* of a co-partitioned topic: keys placed by this part are where they belong */
	int32_t partitions;
	int32_t *known; /* earlier counts */
	size_t known_n;
	struct arena arena;     /* keys */
	struct cause_row *rows; /* by partition, hash and key */
	size_t row_n;
	struct key_bytes *sampled; /* keys of the topic, wherever they are */
	size_t sampled_n;
	int64_t keyed_records, off_home_keys, stale_keys;
	struct cause_partition *parts; /* of each partition */
	size_t needed;                 /* fewer keys cannot give an answer */
	struct cause causes[CAUSES_MOST];
	size_t cause_n;
};

/*
 * Once the causes of attribute are there, and no others. What another producer puts off home is, by luck, where an
 * earlier count would put it, too. So stale rows go to a cause that was found, if it explains more of the others than
 * stale rows are left; and where others are left without a cause, to them, unless there are more of the stale ones
 * than luck would have it. Gives how many remain.
 */
size_t cause_settle_stale(struct cause_topic *topic);

/* Likewise: marks the rows that several of the causes explain. */
void cause_mark_shared(struct cause_topic *topic);

/* Fills in what the causes of rows are of the topic. */
void cause_sum(struct cause_topic *topic);

/* Writes the causes of a topic. 0 or -1. */
int cause_write(sqlite3 *db, const struct cause_topic *topic, struct trouble *t);

#endif
