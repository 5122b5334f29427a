/*
 * sampler: what the files that look at Redis share. sample.h is the entry for others.
 */
#ifndef INGEST_SAMPLER_H
#define INGEST_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "ingest/redis_conn.h"
#include "ingest/redis_rate.h"
#include "ingest/sample.h"
#include "sql/facts.h"
#include "sql/run.h"

/* Whether hashes have times to live of their fields. */
enum field_ttl {
	FIELD_TTL_ABSENT, /* the server has no such thing: not known */
	FIELD_TTL_UNUSED, /* no hash of the database has one */
	FIELD_TTL_ASK,
};

struct sampler {
	const struct run *run;
	const struct redis_config *redis;
	struct redis_conn *conn;
	struct redis_rate rate;
	int64_t timeout_ms;
	int64_t server_keys; /* keys of the database in use; UNKNOWN before INFO */
	bool cluster;        /* a node of a cluster: keys have slots */
	enum field_ttl field_ttl;
	char *replica_words; /* of sampler_catch_up */
};

/* What INFO keyspace says of the database in use, into the sampler; who may not ask leaves it unknown. 0 or -1. */
int sampler_look_at_keyspace(struct sampler *sampler, struct trouble *t);

/* All of INFO; forgets the replies before. The bytes live until the next redis_conn_forget. 0 or -1. */
int sampler_ask_info(struct redis_conn *conn, struct bytes *info, struct trouble *t);

/*
 * A value of INFO as a number, UNKNOWN where it is none; and as text that is fit for the index, NULL where there is
 * none, for the caller to free.
 */
int64_t redis_info_number(struct bytes info, const char *name);
char *redis_info_text(struct bytes info, const char *name);

/* Keys of a database, by INFO. */
int64_t redis_info_keys(struct bytes info, int db);

/* --- the sink: sample.c ------------------------------------------------------------------------------------------- */

struct sample_job;

/* Rows on their way to table fence, in batches. Zero it but for run and writer. */
struct sample_sink {
	const struct run *run;
	struct writer *writer;
	struct sample_job *job;
};

/* Copies the row and its bytes, but for node, which must outlive the writer. 0, or -1 where the writer has failed. */
int sample_add(struct sample_sink *sink, const struct fact_fence *row, struct trouble *t);

/* Hands over what is left. 0 or -1. */
int sample_flush(struct sample_sink *sink, struct trouble *t);

/* After a flush: rows of keys that have become recent since they were written join that stratum. 0 or -1. */
int sample_mark_recent(struct sample_sink *sink, int64_t topic_id, struct keyset *keys, struct trouble *t);

/* After a flush: rows of the topic that say that no field has a time to live say that it is not known. 0 or -1. */
int sample_forget_field_ttls(struct sample_sink *sink, int64_t topic_id, struct trouble *t);

#endif
