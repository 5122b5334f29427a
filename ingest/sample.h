/*
 * sample: looks at Redis for one pipeline topic. The order of looking (ingest.c) calls these between its looks at
 * Kafka; what is seen goes to the sink (sample_add -> table fence) through the writer.
 *
 * Which keys: the key set (keyset.h) holds the record keys of the history that are in the sample, in two strata. A key
 * is in the main sample when hash < T. The scan takes every Redis key that parses under the template and has hash < T;
 * record keys that the scan did not show, and all keys of the recent stratum that are not in the main sample, are asked
 * for directly, so absence is a fact.
 */
#ifndef INGEST_SAMPLE_H
#define INGEST_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "ingest/config.h"
#include "ingest/keyset.h"
#include "sql/run.h"
#include "sql/trouble.h"
#include "sql/writer.h"

struct sampler;

/*
 * Connects and authenticates, SELECTs, CLIENT SETNAME / NO-TOUCH where allowed. Timeout in ms for connect and each
 * reply. -1: clear words, no secrets.
 */
int sampler_open(const struct run *run, const struct redis_config *redis, int64_t timeout_ms, struct sampler **sampler,
		 struct trouble *t);
void sampler_close(struct sampler *sampler);

/*
 * INFO into redis_server and redis_info, through the writer; a server that the run has already looked at stays as it
 * was seen first.
 */
int sampler_info(struct sampler *sampler, struct writer *writer, struct trouble *t);

/* Keys in the database in use, as sampler_info read it; UNKNOWN before. */
int64_t sampler_server_keys(const struct sampler *sampler);

/*
 * Where the server is a replica: asks its master (same credentials) for master_repl_offset and waits until the replica
 * has passed it under the same replid, at most wait_ms. *words: NULL on a master, "passed", or why it could not be
 * shown (static or owned by the sampler).
 */
int sampler_catch_up(struct sampler *sampler, int64_t wait_ms, const char **words, struct trouble *t);

/* Epoch keys of partitions [0, partitions) of a topic into table epoch. */
int sampler_epochs(struct sampler *sampler, struct writer *writer, const struct pipeline_config *pipeline,
		   int64_t topic_id, const char *topic, int32_t partitions, struct trouble *t);

struct sample_counts {
	int64_t scanned;  /* Redis keys that the scan showed under the template; twice shown is noticed in the sample */
	int64_t unparsed; /* of those, not parsing back to a record key, or to one of too many */
	int64_t taken;    /* of those, in the sample */
	int64_t asked;    /* keys asked for directly */
	int64_t nameless; /* record keys without a Redis key of their own (format, another template). They get no row */
	bool scan_complete;
	struct trouble scan_trouble; /* why not */
};

/*
 * Another topic whose fences lie on the same server and database. Of two templates that name a Redis key, the one with
 * the longer literal prefix has it.
 */
struct sample_rival {
	const struct key_template *key;
	enum key_format key_format;
	const char *topic;
};

/* What one sampling is about; borrowed for the calls. */
struct sample_subject {
	const struct pipeline_config *pipeline;
	const char *topic;
	int64_t topic_id;
	const struct sample_rival *claims; /* a claim of the subject itself does no harm */
	size_t claim_count;
};

/*
 * SCAN with MATCH, HMGET and PTTL pipelined; keys with hash < T into the sink, and marked as seen in the key set. Where
 * Redis has more keys without a record than the sample may have keys, T halves during the scan, and rows already
 * written above it are outside the sample. 0, also where the scan could not finish: then scan_complete is false,
 * scan_trouble says why, and what was seen stays. -1 where the index cannot be written.
 */
int sampler_scan(struct sampler *sampler, struct writer *writer, const struct sample_subject *subject,
		 struct keyset *keys, struct sample_counts *counts, struct trouble *t);

/*
 * Asks for every key of the set that was neither seen nor asked for yet (both strata); absent ones are rows too. Keys
 * that became recent after their row was written are put into that stratum. 0; -1 where the server or the index failed:
 * keys without an answer can be asked for again.
 */
int sampler_ask(struct sampler *sampler, struct writer *writer, const struct sample_subject *subject,
		struct keyset *keys, struct sample_counts *counts, struct trouble *t);

enum { KEY_PARTS_TRIED = 3, KEY_GUESSES = KEY_PARTS_TRIED * KEY_FORMAT_COUNT };

/*
 * The mapping guard: of at most 1,000 record keys of the set, how many exist on the server under each key format.
 * hits[part * KEY_FORMAT_COUNT + format], where part is that of enum keypart, of the keys as they are in the set. Uses
 * the template with each.
 */
int sampler_try_formats(struct sampler *sampler, const struct sample_subject *subject, struct keyset *keys,
			int64_t *tried, int64_t *hits, struct trouble *t);

#endif
