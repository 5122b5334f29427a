/*
 * plan: what a run is going to look at. Pipelines with equal Kafka properties share one source; pipelines on the same
 * topic and isolation level share one history, which is replayed once.
 *
 *     plan -> clusters (source, histories)
 *          -> lanes (pipeline) -> subjects (topic in a role) -> looks, one a partition
 */
#ifndef INGEST_PLAN_H
#define INGEST_PLAN_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ingest/ingest.h"
#include "ingest/keyset.h"
#include "ingest/replay.h"
#include "ingest/sample.h"

/* One Kafka cluster as one set of properties reaches it. */
struct cluster {
	const struct properties *properties;
	struct source *source; /* NULL: could not be made; trouble says why */
	struct topic_history *histories;
	size_t count;
	struct trouble trouble;
};

/*
 * What steps 1, 2 and 5 read of one partition, for one pipeline. value UNKNOWN: not known, trouble says why unless
 * empty.
 */
struct look {
	int64_t value, at_us;
	struct trouble trouble;
};

struct partition_looks {
	struct look first_log_start, first_end; /* step 1 */
	struct look log_start;                  /* step 2, before C */
	struct look high_watermark;             /* likewise */
	struct look commit;                     /* C */
	struct look last_high_watermark;
	int64_t from;               /* the config's "from" as an offset; UNKNOWN: the beginning */
	int64_t proven, proven_run; /* the highest horizon end of earlier runs; UNKNOWN: none */
};

enum role { ROLE_SOURCE, ROLE_DLQ, ROLE_COPARTITIONED };

struct subject {
	size_t history; /* in the lane's cluster */
	enum role role;
	int64_t topic_id; /* row of table topic */
	int32_t partitions_at_start;
	bool told; /* trouble of the topic was recorded when the run began */
	struct partition_looks *looks;
	int32_t look_count;
	int64_t *keyed;            /* per partition: the key set holds the history below this offset */
	int64_t keyed_incarnation; /* whose keys the key set holds */
	struct keyset *keys;       /* ROLE_SOURCE */
	int64_t recent_from_ms;
	struct sample_counts counts;
};

/* One pipeline on its way through the run. */
struct lane {
	const struct pipeline_config *pipeline;
	struct cluster *cluster;
	int64_t pipeline_id;
	struct subject *subjects;
	size_t count;
	struct group_look group;
	struct sampler *sampler;     /* NULL: without Redis, or not reachable */
	struct sample_rival *claims; /* of all pipelines on the same server, its own included */
	size_t claim_count;
	const char *replica; /* as in table pipeline */
	const char *mapping; /* fits, unknown, broken */
	char *mapping_hint;
	bool lost; /* nothing of it could be looked at; trouble was recorded */
};

struct plan {
	const struct run *run;
	sqlite3 *db;
	const struct ingest_options *options;
	struct cluster *clusters;
	size_t cluster_count;
	struct lane *lanes;
	size_t lane_count;
};

/*
 * Connects the sources and resolves names and ^regex. Trouble of one cluster or pipeline is recorded and marks it
 * lost. 0, or -1: the index.
 */
int plan_make(struct plan *plan, struct trouble *t);
void plan_release(struct plan *plan);

/* Adds rows to pipeline, partitions_before and topic, after the histories are open. */
int plan_record(struct plan *plan, struct trouble *t);

/* The same rows with what became known by the end: partition counts, samples, group, mapping. */
int plan_record_end(struct plan *plan, struct trouble *t);

/* Makes looks and keyed as long as the history has partitions; new ones are unknown. */
void subject_grow(struct subject *subject, const struct topic_history *history);

static inline struct topic_history *subject_history(const struct lane *lane, const struct subject *subject)
{
	return &lane->cluster->histories[subject->history];
}

/*
 * Records trouble of a lane, a subject or one of its partitions (UNKNOWN: none); subject may be NULL. 0, or -1: the
 * index.
 */
int plan_trouble(struct plan *plan, const char *stage, const struct lane *lane, const struct subject *subject,
		 int64_t partition, const struct trouble *what, struct trouble *t);

#endif
