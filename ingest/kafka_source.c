/* kafka_source: making and freeing the source, and which topics a name or a pattern means. */
#include "ingest/kafka_source.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/kafka_client.h"
#include "sql/mem.h"

static const char *kafka_cluster(struct source *source)
{
	return kafka_source_of(source)->cluster;
}

static void kafka_free(struct source *base)
{
	struct kafka_source *source = kafka_source_of(base);

	for (int i = 0; i < KAFKA_ISOLATIONS; i++) {
		kafka_client_free(source->looks[i]);
		for (int j = 0; j < KAFKA_HANDLES_MAX; j++)
			kafka_client_free(source->readers[i][j]);
	}
	kafka_client_free(source->commits);
	kafka_properties_release(&source->properties);
	topic_names_release(&source->config_noted);
	pthread_mutex_destroy(&source->log_lock);
	free(source->cluster);
	free(source);
}

static const struct source_ops ops = {
	.cluster = kafka_cluster,
	.topics = kafka_topics,
	.describe = kafka_describe,
	.transaction_max_ms = kafka_transaction_max_ms,
	.offsets = kafka_offsets,
	.commits = kafka_commits,
	.group = kafka_group,
	.replay = kafka_replay,
	.reread = kafka_reread,
	.probe = kafka_probe,
	.free = kafka_free,
};

static const char *servers_of(const struct properties *properties)
{
	const char *servers = NULL;

	for (size_t i = 0; i < properties->count; i++)
		if (strcmp(properties->items[i].name, "bootstrap.servers") == 0 ||
		    strcmp(properties->items[i].name, "metadata.broker.list") == 0)
			servers = properties->items[i].value;
	return servers;
}

/* The first contact. The cluster's id comes with the metadata that rd_kafka_metadata has just fetched. */
static int connect_cluster(struct kafka_source *source, struct trouble *t)
{
	struct kafka_client *client = kafka_look_client(source, ISOLATION_READ_COMMITTED, t);
	const struct rd_kafka_metadata *metadata;
	int64_t until = run_tick_us(source->run) + source->timeout_ms * 1000;
	rd_kafka_resp_err_t err;
	char *id;

	if (!client)
		return -1;
	do {
		err = rd_kafka_metadata(client->rk, 0, NULL, &metadata, KAFKA_SLICE_MS);
	} while (err && kafka_err_passes(err) && kafka_client_may_wait(client, until));
	if (err)
		return trouble_set(t, "kafka: %s: %s", servers_of(&source->properties),
				   kafka_client_words(client, err));
	rd_kafka_metadata_destroy(metadata);
	id = rd_kafka_clusterid(client->rk, KAFKA_SLICE_MS);
	source->cluster = xstrdup(id ? id : servers_of(&source->properties));
	if (id)
		rd_kafka_mem_free(client->rk, id);
	return 0;
}

int kafka_source_new(const struct run *run, const struct properties *properties, const struct kafka_options *options,
		     struct source **out, struct trouble *t)
{
	struct kafka_source *source = xalloc(sizeof(*source));

	*out = NULL;
	source->base.ops = &ops;
	source->run = run;
	source->handles = options->handles > 0 ? options->handles : 2;
	source->timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : 60000;
	source->silent_us = UNKNOWN;
	source->transaction_max_ms = UNKNOWN;
	pthread_mutex_init(&source->log_lock, NULL);
	kafka_properties_copy(run, properties, &source->properties);
	if (source->handles > KAFKA_HANDLES_MAX)
		source->handles = KAFKA_HANDLES_MAX;
	if (!servers_of(&source->properties))
		trouble_set(t, "kafka: property bootstrap.servers is missing");
	else if (connect_cluster(source, t) == 0)
		*out = &source->base;
	if (!*out)
		kafka_free(&source->base);
	return *out ? 0 : -1;
}

void topic_names_release(struct topic_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->names[i]);
	free(names->names);
	*names = (struct topic_names){ 0 };
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_name(struct topic_names *names, const char *name)
{
	names->names = xgrow(names->names, names->count + 1, sizeof(*names->names));
	names->names[names->count++] = xstrdup(name);
}

static int compile(const char *pattern, regex_t *regex, struct trouble *t)
{
	char words[256];
	int error = regcomp(regex, pattern, REG_EXTENDED | REG_NOSUB);

	if (error == 0)
		return 0;
	regerror(error, regex, words, sizeof(words));
	return trouble_set(t, "topic pattern %s: %s", pattern, words);
}

static int topics_like(struct kafka_client *client, const char *pattern, struct topic_names *names, struct trouble *t)
{
	const struct rd_kafka_metadata *metadata;
	regex_t regex;

	if (compile(pattern, &regex, t) < 0)
		return -1;
	if (kafka_metadata(client, NULL, &metadata, t) < 0) {
		regfree(&regex);
		return -1;
	}
	for (int i = 0; i < metadata->topic_cnt; i++) {
		const char *name = metadata->topics[i].topic;

		if (strncmp(name, "__", 2) != 0 && regexec(&regex, name, 0, NULL, 0) == 0)
			add_name(names, name);
	}
	rd_kafka_metadata_destroy(metadata);
	regfree(&regex);
	if (names->count > 0)
		qsort(names->names, names->count, sizeof(*names->names), by_name);
	return 0;
}

int kafka_topics(struct source *base, const char *pattern, struct topic_names *names, struct trouble *t)
{
	struct kafka_client *client = kafka_look_client(kafka_source_of(base), ISOLATION_READ_COMMITTED, t);
	int32_t partitions = -1;

	*names = (struct topic_names){ 0 };
	if (!client)
		return -1;
	if (pattern[0] == '^')
		return topics_like(client, pattern, names, t);
	if (kafka_partitions(client, pattern, &partitions, t) < 0 && partitions != KAFKA_HIDDEN)
		return trouble_wrap(t, "topic %s", pattern);
	/* That a topic is hidden is found out again, and said, by who looks at it; others are looked at all the same. */
	if (partitions >= 0 || partitions == KAFKA_HIDDEN)
		add_name(names, pattern);
	return 0;
}
