/* kafka_client: properties, logs and errors of a librdkafka consumer. */
#include "ingest/kafka_client.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sql/mem.h"

/* What a run decides itself. A file of properties shared with other clients may hold any of them. */
static const struct {
	const char *name, *why;
} ignored[] = {
	{ "group.id", "no group is joined" },
	{ "group.instance.id", "no group is joined" },
	{ "group.protocol.type", "no group is joined" },
	{ "partition.assignment.strategy", "no group is joined" },
	{ "enable.auto.commit", "nothing is committed" },
	{ "auto.commit.enable", "nothing is committed" },
	{ "auto.commit.interval.ms", "nothing is committed" },
	{ "enable.auto.offset.store", "nothing is committed" },
	{ "offset.store.method", "nothing is committed" },
	{ "offset.store.path", "nothing is committed" },
	{ "auto.offset.reset", "an offset out of range is trouble, never a jump" },
	{ "isolation.level", "the pipeline's isolation decides" },
	{ "enable.partition.eof", "the end of a partition must be seen" },
	{ "check.crcs", "checksums are always checked" },
	{ "allow.auto.create.topics", "no topic is ever created" },
	{ "log.queue", "logs go to the run" },
};

/* Speed and memory; a user's property wins. */
static const char *const read_defaults[][2] = {
	{ "client.id", "fencepost" },
	{ "queued.min.messages", "200000" },
	{ "queued.max.messages.kbytes", "32768" },
	{ "fetch.wait.max.ms", "10" },
	{ "fetch.error.backoff.ms", "100" },
	{ "reconnect.backoff.max.ms", "2000" },
	{ "socket.keepalive.enable", "true" },
};

/*
 * On top, for questions: one batch a partition is enough. Beginning a partition puts an entry in the queue, so
 * fewer messages would stop the fetching.
 */
static const char *const look_defaults[][2] = {
	{ "fetch.message.max.bytes", "16384" },
	{ "queued.min.messages", "100000" },
};

static const char *const fixed[][2] = {
	{ "enable.auto.commit", "false" },  { "enable.auto.offset.store", "false" },
	{ "auto.offset.reset", "error" },   { "check.crcs", "true" },
	{ "enable.partition.eof", "true" }, { "allow.auto.create.topics", "false" },
};

enum { LOG_LINES = 5, LOG_PERIOD_US = 10000000, LOG_LEVEL_WARNING = 4 };

static const char *why_ignored(const char *name)
{
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		if (strcmp(ignored[i].name, name) == 0)
			return ignored[i].why;
	return NULL;
}

void kafka_properties_copy(const struct run *run, const struct properties *properties, struct properties *out)
{
	out->items = xarray(properties->count + 1, sizeof(*out->items));
	out->count = 0;
	for (size_t i = 0; i < properties->count; i++) {
		const char *name = properties->items[i].name;
		const char *why;

		if (strncmp(name, "topic.", 6) == 0 && strncmp(name, "topic.metadata.", 15) != 0)
			name += 6;
		why = why_ignored(name);
		if (why) {
			run_note(run, "kafka: property %s is ignored: %s", name, why);
			continue;
		}
		out->items[out->count].name = xstrdup(name);
		out->items[out->count++].value = xstrdup(properties->items[i].value);
	}
}

void kafka_properties_release(struct properties *properties)
{
	for (size_t i = 0; i < properties->count; i++) {
		free(properties->items[i].name);
		free(properties->items[i].value);
	}
	free(properties->items);
	*properties = (struct properties){ 0 };
}

static int set(rd_kafka_conf_t *conf, const char *name, const char *value, struct trouble *t)
{
	char words[256];

	if (rd_kafka_conf_set(conf, name, value, words, sizeof(words)) == RD_KAFKA_CONF_OK)
		return 0;
	if (config_property_secret(name))
		return trouble_set(t, "kafka: property %s: librdkafka refuses its value", name);
	return trouble_set(t, "kafka: property %s: %s", name, words);
}

static int set_all(rd_kafka_conf_t *conf, const char *const (*pairs)[2], size_t count, struct trouble *t)
{
	for (size_t i = 0; i < count; i++)
		if (set(conf, pairs[i][0], pairs[i][1], t) < 0)
			return -1;
	return 0;
}

/* Called from any of librdkafka's threads. */
static void on_log(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
	struct kafka_client *client = rd_kafka_opaque(rk);
	struct kafka_source *source = client->source;
	int64_t period = run_tick_us(source->run) / LOG_PERIOD_US;
	int lines;

	if (level > LOG_LEVEL_WARNING && !source->debug)
		return;
	if (run_stopped(source->run) || strcmp(facility, "CONFWARN") == 0 || strcmp(facility, "AUTOCREATE") == 0)
		/* AUTOCREATE: a broker before 0.11, or the mock, may create topics that are asked for by name */
		return;
	pthread_mutex_lock(&source->log_lock);
	if (source->log_second != period) {
		source->log_second = period;
		source->log_lines = 0;
	}
	lines = source->log_lines++;
	pthread_mutex_unlock(&source->log_lock);
	if (lines < LOG_LINES || source->debug)
		run_note(source->run, "kafka: %s: %s", facility, text);
	else if (lines == LOG_LINES)
		run_note(source->run, "kafka: more of the same is not shown");
}

static void on_error(rd_kafka_t *rk, int err, const char *reason, void *opaque)
{
	struct kafka_client *client = opaque;
	size_t size = strlen(reason);

	(void)rk;
	if (err == RD_KAFKA_RESP_ERR__AUTHENTICATION || err == RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED ||
	    err == RD_KAFKA_RESP_ERR__SSL)
		client->denied = true;
	if (err == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN && client->error[0])
		return; /* the reason before it says more */
	if (size >= sizeof(client->error))
		size = sizeof(client->error) - 1;
	memcpy(client->error, reason, size);
	client->error[size] = '\0';
}

static int configure(struct kafka_client *client, rd_kafka_conf_t *conf, enum isolation isolation, enum kafka_use use,
		     struct trouble *t)
{
	const struct properties *own = &client->source->properties;

	rd_kafka_conf_set_opaque(conf, client);
	rd_kafka_conf_set_log_cb(conf, on_log);
	rd_kafka_conf_set_error_cb(conf, on_error);
	if (set_all(conf, read_defaults, sizeof(read_defaults) / sizeof(read_defaults[0]), t) < 0)
		return -1;
	for (size_t i = 0; i < own->count; i++) {
		client->source->debug = client->source->debug || strcmp(own->items[i].name, "debug") == 0;
		if (set(conf, own->items[i].name, own->items[i].value, t) < 0)
			return -1;
	}
	if (use == KAFKA_LOOK && set_all(conf, look_defaults, sizeof(look_defaults) / sizeof(look_defaults[0]), t) < 0)
		return -1;
	if (set_all(conf, fixed, sizeof(fixed) / sizeof(fixed[0]), t) < 0)
		return -1;
	return set(conf, "isolation.level", isolation_word(isolation), t);
}

struct kafka_client *kafka_client_new(struct kafka_source *source, enum isolation isolation, enum kafka_use use,
				      const char *group, struct trouble *t)
{
	struct kafka_client *client = xalloc(sizeof(*client));
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char words[256];

	client->source = source;
	if (configure(client, conf, isolation, use, t) < 0 || (group && set(conf, "group.id", group, t) < 0))
		goto fail;
	client->rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, words, sizeof(words));
	if (!client->rk) {
		trouble_set(t, "kafka: %s", words);
		goto fail;
	}
	client->queue = rd_kafka_queue_new(client->rk);
	return client;
fail:
	rd_kafka_conf_destroy(conf);
	free(client);
	return NULL;
}

void kafka_client_free(struct kafka_client *client)
{
	if (!client)
		return;
	rd_kafka_queue_destroy(client->queue);
	/* no group was joined, so none is left */
	rd_kafka_destroy_flags(client->rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
	free(client);
}

struct kafka_client *kafka_look_client(struct kafka_source *source, enum isolation isolation, struct trouble *t)
{
	if (!source->looks[isolation])
		source->looks[isolation] = kafka_client_new(source, isolation, KAFKA_LOOK, NULL, t);
	return source->looks[isolation];
}

struct kafka_client *kafka_commit_client(struct kafka_source *source, const char *group, struct trouble *t)
{
	if (!source->commits)
		source->commits = kafka_client_new(source, ISOLATION_READ_UNCOMMITTED, KAFKA_LOOK, group, t);
	return source->commits;
}

struct kafka_client *kafka_read_client(struct kafka_source *source, enum isolation isolation, int i, struct trouble *t)
{
	if (!source->readers[isolation][i])
		source->readers[isolation][i] = kafka_client_new(source, isolation, KAFKA_READ, NULL, t);
	return source->readers[isolation][i];
}

const char *kafka_err_words(rd_kafka_resp_err_t err)
{
	switch (err) {
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		return "Topic authorization failed: the user needs Read and Describe on the topic";
	case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
		return "Group authorization failed: the user needs Describe on the group";
	default: return rd_kafka_err2str(err);
	}
}

const char *kafka_client_words(const struct kafka_client *client, rd_kafka_resp_err_t err)
{
	bool vague = err == RD_KAFKA_RESP_ERR_NO_ERROR || err == RD_KAFKA_RESP_ERR__TIMED_OUT ||
		     err == RD_KAFKA_RESP_ERR__TRANSPORT || err == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN;

	if (vague && client->error[0])
		return client->error;
	return err == RD_KAFKA_RESP_ERR_NO_ERROR ? "no answer" : kafka_err_words(err);
}

bool kafka_err_passes(rd_kafka_resp_err_t err)
{
	switch (err) {
	case RD_KAFKA_RESP_ERR__TIMED_OUT:
	case RD_KAFKA_RESP_ERR__TRANSPORT:
	case RD_KAFKA_RESP_ERR__RESOLVE:
	case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
	case RD_KAFKA_RESP_ERR__WAIT_COORD:
	case RD_KAFKA_RESP_ERR__NODE_UPDATE:
	case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
	case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
	case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
	case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
	case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
	case RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE:
	case RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE:
	case RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION:
	case RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS:
	case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
	case RD_KAFKA_RESP_ERR_NOT_COORDINATOR:
	case RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR:
	case RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH:
	case RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH:
	case RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE: return true;
	default: return false;
	}
}

bool kafka_client_may_wait(struct kafka_client *client, int64_t until)
{
	rd_kafka_poll(client->rk, 0);
	return !client->denied && !run_stopped(client->source->run) && run_tick_us(client->source->run) < until;
}

int64_t kafka_source_until(const struct kafka_source *source, int64_t begun_us)
{
	return (source->silent_us == UNKNOWN ? begun_us : source->silent_us) + source->timeout_ms * 1000;
}

int kafka_metadata(struct kafka_client *client, const char *topic, const struct rd_kafka_metadata **metadata,
		   struct trouble *t)
{
	struct kafka_source *source = client->source;
	int64_t begun = run_tick_us(source->run);
	rd_kafka_topic_t *rkt = topic ? rd_kafka_topic_new(client->rk, topic, NULL) : NULL;
	rd_kafka_resp_err_t err;

	if (topic && !rkt)
		return trouble_set(t, "kafka: %s: %s", topic, rd_kafka_err2str(rd_kafka_last_error()));
	do {
		err = rd_kafka_metadata(client->rk, !rkt, rkt, metadata, KAFKA_SLICE_MS);
	} while (err && kafka_err_passes(err) && kafka_client_may_wait(client, kafka_source_until(source, begun)));
	if (!err || !kafka_err_passes(err))
		source->silent_us = UNKNOWN;
	else if (source->silent_us == UNKNOWN)
		source->silent_us = begun;
	if (rkt)
		rd_kafka_topic_destroy(rkt);
	if (err)
		return trouble_set(t, "kafka: metadata: %s", kafka_client_words(client, err));
	return 0;
}
