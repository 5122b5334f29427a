/* plan: from the config to clusters, histories and subjects. */
#include "ingest/plan.h"

#include <stdlib.h>
#include <string.h>

#include "ingest/kafka_source.h"
#include "ingest/vanished.h"
#include "sql/mem.h"
#include "sql/runlog.h"

int plan_trouble(struct plan *plan, const char *stage, const struct lane *lane, const struct subject *subject,
		 int64_t partition, const struct trouble *what, struct trouble *t)
{
	struct run_gap gap = {
		.stage = stage,
		.pipeline = lane ? lane->pipeline->name : NULL,
		.topic = subject ? subject_history(lane, subject)->topic : NULL,
		.partition = partition,
	};

	return run_trouble(plan->run, plan->db, &gap, what, t);
}

static bool same_properties(const struct properties *a, const struct properties *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->items[i].name, b->items[i].name) != 0 ||
		    strcmp(a->items[i].value, b->items[i].value) != 0)
			return false;
	return true;
}

/* The clusters are allocated for all pipelines at once, so that pointers to them stay. */
static struct cluster *cluster_of(struct plan *plan, const struct properties *properties)
{
	struct kafka_options options = { .handles = plan->options->handles, .timeout_ms = plan->options->timeout_ms };
	struct cluster *cluster;

	for (size_t i = 0; i < plan->cluster_count; i++)
		if (same_properties(plan->clusters[i].properties, properties))
			return &plan->clusters[i];
	cluster = &plan->clusters[plan->cluster_count++];
	cluster->properties = properties;
	if (kafka_source_new(plan->run, properties, &options, &cluster->source, &cluster->trouble) < 0)
		cluster->source = NULL;
	return cluster;
}

static size_t history_of(struct cluster *cluster, const char *topic, const struct pipeline_config *pipeline)
{
	struct topic_history *history;

	for (size_t i = 0; i < cluster->count; i++)
		if (strcmp(cluster->histories[i].topic, topic) == 0 &&
		    cluster->histories[i].isolation == pipeline->isolation)
			return i;
	cluster->histories = xgrow(cluster->histories, cluster->count + 1, sizeof(*cluster->histories));
	history = &cluster->histories[cluster->count];
	*history = (struct topic_history){ .topic = xstrdup(topic), .isolation = pipeline->isolation };
	return cluster->count++;
}

static void add_subject(struct lane *lane, const char *topic, enum role role)
{
	const struct pipeline_config *pipeline = lane->pipeline;
	size_t history = history_of(lane->cluster, topic, pipeline);
	struct topic_history *entry = &lane->cluster->histories[history];

	for (size_t i = 0; i < lane->count; i++)
		if (lane->subjects[i].history == history && lane->subjects[i].role == role)
			return;
	if (role == ROLE_SOURCE && pipeline->state == STATE_SUM)
		entry->numbers = true;
	if (role == ROLE_DLQ)
		entry->dlq_header = pipeline->dlq_header;
	lane->subjects = xgrow(lane->subjects, lane->count + 1, sizeof(*lane->subjects));
	lane->subjects[lane->count++] = (struct subject){ .history = history, .role = role, .recent_from_ms = UNKNOWN };
}

static int add_topics(struct lane *lane, const char *pattern, struct trouble *t)
{
	struct source *source = lane->cluster->source;
	struct topic_names names = { 0 };

	if (source->ops->topics(source, pattern, &names, t) < 0)
		return -1;
	if (names.count == 0)
		return trouble_set(t, "no topic matches %s", pattern);
	for (size_t i = 0; i < names.count; i++)
		add_subject(lane, names.names[i], ROLE_SOURCE);
	topic_names_release(&names);
	return 0;
}

static int resolve(struct lane *lane, struct trouble *t)
{
	const struct pipeline_config *pipeline = lane->pipeline;

	if (!lane->cluster->source) {
		*t = lane->cluster->trouble;
		return -1;
	}
	for (size_t i = 0; i < pipeline->topic_count; i++)
		if (add_topics(lane, pipeline->topics[i], t) < 0)
			return -1;
	if (lane->count > 1 && pipeline->one_topic_only)
		return trouble_set(t,
				   "%zu topics match, but a template of the pipeline has no {topic}: their fences "
				   "would share keys",
				   lane->count);
	if (pipeline->dlq)
		add_subject(lane, pipeline->dlq, ROLE_DLQ);
	for (size_t i = 0; i < pipeline->copartitioned_count; i++)
		add_subject(lane, pipeline->copartitioned[i], ROLE_COPARTITIONED);
	return 0;
}

static void add_claim(struct lane *lane, const struct lane *other, const char *topic)
{
	lane->claims = xgrow(lane->claims, lane->claim_count + 1, sizeof(*lane->claims));
	lane->claims[lane->claim_count++] = (struct sample_rival){
		.key = other->pipeline->key,
		.key_format = other->pipeline->key_format,
		.topic = topic,
	};
}

/* What else lies on the same server. A pipeline that could not be resolved still claims the topics that it names. */
static void find_claims(struct plan *plan, struct lane *lane)
{
	for (size_t i = 0; i < plan->lane_count && lane->pipeline->has_redis; i++) {
		const struct lane *other = &plan->lanes[i];

		if (!other->pipeline->has_redis ||
		    strcmp(other->pipeline->redis.address, lane->pipeline->redis.address) != 0)
			continue;
		for (size_t j = 0; j < other->count; j++)
			if (other->subjects[j].role == ROLE_SOURCE)
				add_claim(lane, other, subject_history(other, &other->subjects[j])->topic);
		for (size_t j = 0; j < other->pipeline->topic_count && other->lost; j++)
			if (other->pipeline->topics[j][0] != '^')
				add_claim(lane, other, other->pipeline->topics[j]);
	}
}

int plan_make(struct plan *plan, struct trouble *t)
{
	const struct config *config = plan->options->config;

	plan->clusters = xarray(config->pipeline_count, sizeof(*plan->clusters));
	plan->lanes = xarray(config->pipeline_count, sizeof(*plan->lanes));
	plan->lane_count = config->pipeline_count;
	for (size_t i = 0; i < plan->lane_count; i++)
		plan->lanes[i] = (struct lane){ .pipeline = &config->pipelines[i], .mapping = "unknown" };
	for (size_t i = 0; i < plan->lane_count && !run_stopped(plan->run); i++) {
		struct lane *lane = &plan->lanes[i];
		struct trouble what = { 0 };

		lane->cluster = cluster_of(plan, &lane->pipeline->kafka);
		lane->lost = resolve(lane, &what) < 0;
		if (lane->lost && plan_trouble(plan, "replay", lane, NULL, UNKNOWN, &what, t) < 0)
			return -1;
	}
	for (size_t i = 0; i < plan->lane_count; i++) {
		find_claims(plan, &plan->lanes[i]);
		if (!run_stopped(plan->run) && vanished_topics(plan, &plan->lanes[i], t) < 0)
			return -1;
	}
	return 0;
}

static void lane_release(struct lane *lane)
{
	for (size_t i = 0; i < lane->count; i++) {
		free(lane->subjects[i].looks);
		free(lane->subjects[i].keyed);
		if (lane->subjects[i].keys)
			keyset_free(lane->subjects[i].keys);
	}
	free(lane->subjects);
	free(lane->claims);
	free(lane->mapping_hint);
	group_look_release(&lane->group);
	if (lane->sampler)
		sampler_close(lane->sampler);
}

void plan_release(struct plan *plan)
{
	for (size_t i = 0; i < plan->lane_count; i++)
		lane_release(&plan->lanes[i]);
	for (size_t i = 0; i < plan->cluster_count; i++) {
		struct cluster *cluster = &plan->clusters[i];

		for (size_t j = 0; j < cluster->count; j++)
			topic_history_release(&cluster->histories[j]);
		free(cluster->histories);
		if (cluster->source)
			cluster->source->ops->free(cluster->source);
	}
	free(plan->lanes);
	free(plan->clusters);
}

void subject_grow(struct subject *subject, const struct topic_history *history)
{
	static const struct look unknown = { .value = UNKNOWN, .at_us = UNKNOWN };

	if (subject->look_count < history->partitions) {
		subject->looks = xgrow(subject->looks, (size_t)history->partitions, sizeof(*subject->looks));
		subject->keyed = xgrow(subject->keyed, (size_t)history->partitions, sizeof(*subject->keyed));
	}
	for (; subject->look_count < history->partitions; subject->look_count++) {
		subject->looks[subject->look_count] = (struct partition_looks){
			.first_log_start = unknown,
			.first_end = unknown,
			.log_start = unknown,
			.high_watermark = unknown,
			.commit = unknown,
			.last_high_watermark = unknown,
			.from = UNKNOWN,
			.proven = UNKNOWN,
			.proven_run = UNKNOWN,
		};
		subject->keyed[subject->look_count] = UNKNOWN;
	}
}
