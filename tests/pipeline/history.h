/* A whole topic in memory, by key: what a fault needs to know in order to say exactly what it broke. */
#ifndef PIPELINE_HISTORY_H
#define PIPELINE_HISTORY_H

#include "kafka.h"

struct past {
	int32_t partition;
	int64_t offset;
	struct bytes key, value; /* NULL data: null */
	bool aborted;            /* or still open: not seen by who reads committed records */
};

/* A key and its records, ordered by partition, then offset. */
struct subject {
	struct bytes key;
	const struct past **records;
	size_t count;
};

struct history {
	struct past *records; /* in the order in which they came */
	size_t count;
	const struct past **by_key;
	struct subject *subjects; /* in the order of the key bytes; null keys are in none */
	size_t subjects_count;
	int32_t partitions;
};

/*
 * Read the topic from its log starts to its ends. Where uncommitted is set, aborted and open records are there too and
 * marked; else they are not. The caller frees with history_release.
 */
void history_read(struct history *h, const struct common *c, bool uncommitted);

void history_release(struct history *h);

/* The subject of a key, or NULL. */
const struct subject *history_subject(const struct history *h, struct bytes key);

#endif
