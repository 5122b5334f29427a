/* plan_record: the plan's rows in the index. */
#include "ingest/plan.h"

#include <stdio.h>
#include <string.h>

#include "sql/db.h"
#include "sql/facts.h"
#include "sql_data.h"

enum {
	TRANSACTION_MAX_MS = 900000
}; /* transaction.max.timeout.ms, where a broker's configuration does not say otherwise */

static const char *const role_words[] = {
	[ROLE_SOURCE] = "source", [ROLE_DLQ] = "dlq", [ROLE_COPARTITIONED] = "copartitioned"
};

static const char *servers_of(const struct properties *properties)
{
	const char *servers = "";

	for (size_t i = 0; i < properties->count; i++)
		if (strcmp(properties->items[i].name, "bootstrap.servers") == 0 ||
		    strcmp(properties->items[i].name, "metadata.broker.list") == 0)
			servers = properties->items[i].value;
	return servers;
}

static int record_pipeline(struct plan *plan, struct lane *lane, struct trouble *t)
{
	const struct pipeline_config *p = lane->pipeline;
	char placer[PLACER_TEXT];
	const struct fact_pipeline row = {
		.run_id = plan->run->id,
		.name = p->name,
		.mapping_sha256 = p->mapping_sha256,
		.kafka = servers_of(&p->kafka),
		.group_id = p->group,
		.redis = p->has_redis ? p->redis.address : NULL,
		.key_template = p->key ? template_text(p->key) : NULL,
		.key_format = p->key ? key_format_word(p->key_format) : NULL,
		.key_part = keypart_word(p->key_part),
		.epoch_template = p->epoch ? template_text(p->epoch) : NULL,
		.field_offset = p->field_offset,
		.field_partition = p->field_partition,
		.field_value = p->field_value,
		.state = state_word(p->state),
		.tombstones = tombstones_word(p->tombstones),
		.expires_ms = p->expires_ms,
		.isolation = isolation_word(p->isolation),
		.horizon = horizon_word(p->horizon),
		.horizon_age_ms = p->horizon == HORIZON_AGE ? p->horizon_age_ms : UNKNOWN,
		.from_kind = from_word(p->from),
		.from_us = p->from == FROM_TIME ? p->from_us : UNKNOWN,
		.rejects = rejects_word(p->rejects),
		.dlq = p->dlq,
		.dlq_header = p->dlq ? p->dlq_header : NULL,
		.expect_empty = plan->options->config->expect_empty,
		.recent_ms = plan->options->config->recent_ms,
		.group_members = UNKNOWN,
		.group_us = UNKNOWN,
		.mapping = "unknown",
		.partitioner = placer,
		.hot_share = p->hot_share,
		.cluster_plan = p->has_redis && p->redis.cluster_plan,
	};

	placer_text(&p->placer, placer);
	return fact_pipeline_add(plan->db, &row, &lane->pipeline_id, t);
}

static int record_partitions_before(struct plan *plan, const struct lane *lane, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int result = 0;

	if (db_prepare(plan->db, sql_queries_plan_partitions_before, &stmt, t) < 0)
		return -1;
	for (size_t i = 0; i < lane->pipeline->partitions_before_count && result == 0; i++) {
		db_bind_int(stmt, 1, lane->pipeline_id);
		db_bind_int(stmt, 2, (int64_t)i);
		db_bind_int(stmt, 3, lane->pipeline->partitions_before[i]);
		result = db_run(stmt, t);
	}
	sqlite3_finalize(stmt);
	return result;
}

static int record_subject(struct plan *plan, const struct lane *lane, struct subject *subject, struct trouble *t)
{
	const struct topic_history *history = subject_history(lane, subject);
	const struct topic_description *d = &history->description;
	const struct fact_topic row = {
		.run_id = plan->run->id,
		.pipeline_id = lane->pipeline_id,
		.topic = history->topic,
		.role = role_words[subject->role],
		.incarnation_id = history->incarnation_id ? history->incarnation_id : UNKNOWN,
		.partitions = history->partitions > 0 ? history->partitions : UNKNOWN,
		.partitions_at_start = history->partitions > 0 ? history->partitions : UNKNOWN,
		.cleanup_policy = d->cleanup_policy,
		.retention_ms = d->retention_ms,
		.timestamp_type = d->timestamp_type,
		.main_threshold = UNKNOWN,
		.recent_threshold = UNKNOWN,
		.main_keys = UNKNOWN,
		.recent_keys = UNKNOWN,
		.recent_from_ms = UNKNOWN,
		.history_keys = UNKNOWN,
		.redis_keys = UNKNOWN,
		.redis_keys_taken = UNKNOWN,
		.scan_complete = UNKNOWN,
	};

	subject->partitions_at_start = history->partitions;
	return fact_topic_add(plan->db, &row, &subject->topic_id, t);
}

int plan_record(struct plan *plan, struct trouble *t)
{
	for (size_t i = 0; i < plan->lane_count; i++) {
		struct lane *lane = &plan->lanes[i];

		if (record_pipeline(plan, lane, t) < 0 || record_partitions_before(plan, lane, t) < 0)
			return -1;
		for (size_t j = 0; j < lane->count; j++)
			if (record_subject(plan, lane, &lane->subjects[j], t) < 0)
				return -1;
	}
	return 0;
}

static int record_pipeline_end(struct plan *plan, const struct lane *lane, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int result;

	if (db_prepare(plan->db, sql_queries_plan_pipeline_end, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, lane->pipeline_id);
	db_bind_text(stmt, 2, lane->group.state);
	db_bind_int(stmt, 3, lane->group.state ? lane->group.members : UNKNOWN);
	db_bind_int(stmt, 4, lane->group.state ? lane->group.at_us : UNKNOWN);
	db_bind_text(stmt, 5, lane->mapping);
	db_bind_text(stmt, 6, lane->mapping_hint);
	db_bind_text(stmt, 7, lane->replica);
	result = db_run(stmt, t);
	sqlite3_finalize(stmt);
	return result;
}

/* The sample of copartitioned topics is the least of the pipeline's own, so that their keys can be joined. */
static int64_t main_threshold(const struct lane *lane, const struct subject *subject)
{
	int64_t least = UNKNOWN;

	if (subject->keys)
		return keyset_main_threshold(subject->keys);
	if (subject->role != ROLE_COPARTITIONED)
		return UNKNOWN;
	for (size_t i = 0; i < lane->count; i++) {
		int64_t threshold = lane->subjects[i].keys ? keyset_main_threshold(lane->subjects[i].keys) : UNKNOWN;

		if (threshold != UNKNOWN && (least == UNKNOWN || threshold < least))
			least = threshold;
	}
	return least;
}

static int record_subject_end(struct plan *plan, const struct lane *lane, const struct subject *subject,
			      struct trouble *t)
{
	const struct topic_history *history = subject_history(lane, subject);
	const struct keyset *keys = subject->keys;
	bool scanned = lane->sampler && keys && plan->options->since_us == UNKNOWN;
	sqlite3_stmt *stmt;
	int result;

	if (db_prepare(plan->db, sql_queries_plan_topic_end, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, subject->topic_id);
	db_bind_int(stmt, 2, history->partitions > 0 ? history->partitions : UNKNOWN);
	db_bind_int(stmt, 3, main_threshold(lane, subject));
	db_bind_int(stmt, 4, keys ? keyset_recent_threshold(keys) : UNKNOWN);
	db_bind_int(stmt, 5, keys ? keyset_main_count(keys) : UNKNOWN);
	db_bind_int(stmt, 6, keys ? keyset_recent_count(keys) : UNKNOWN);
	db_bind_int(stmt, 7, subject->recent_from_ms);
	db_bind_int(stmt, 8, keys ? keyset_estimate(keys) : UNKNOWN);
	db_bind_int(stmt, 9, scanned ? subject->counts.scanned : UNKNOWN);
	db_bind_int(stmt, 10, scanned ? subject->counts.taken : UNKNOWN);
	db_bind_int(stmt, 11, scanned ? subject->counts.scan_complete : UNKNOWN);
	db_bind_int(stmt, 12, history->incarnation_id ? history->incarnation_id : UNKNOWN);
	db_bind_int(stmt, 13, scanned ? subject->counts.unparsed : UNKNOWN);
	result = db_run(stmt, t);
	sqlite3_finalize(stmt);
	return result;
}

/*
 * The longest that a transaction may take, of all clusters; one that does not tell is taken to have Kafka's standard.
 * No row: none told.
 */
static int record_transaction_max(struct plan *plan, struct trouble *t)
{
	int64_t longest = UNKNOWN, untold = UNKNOWN;
	char number[24];
	const struct fact_setting row = { plan->run->id, "transaction.max.timeout.ms", number };

	for (size_t i = 0; i < plan->cluster_count; i++) {
		struct source *source = plan->clusters[i].source;
		int64_t told = source ? source->ops->transaction_max_ms(source) : UNKNOWN;

		if (told == UNKNOWN)
			untold = TRANSACTION_MAX_MS;
		else if (told > longest)
			longest = told;
	}
	if (longest == UNKNOWN)
		return 0;
	snprintf(number, sizeof(number), "%lld", (long long)(untold > longest ? untold : longest));
	return fact_setting_add(plan->db, &row, NULL, t);
}

int plan_record_end(struct plan *plan, struct trouble *t)
{
	if (record_transaction_max(plan, t) < 0)
		return -1;
	for (size_t i = 0; i < plan->lane_count; i++) {
		const struct lane *lane = &plan->lanes[i];

		if (record_pipeline_end(plan, lane, t) < 0)
			return -1;
		for (size_t j = 0; j < lane->count; j++)
			if (record_subject_end(plan, lane, &lane->subjects[j], t) < 0)
				return -1;
	}
	return 0;
}
