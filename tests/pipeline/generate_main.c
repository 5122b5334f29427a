/*
 * Fills a topic from a seed, the partition of each record chosen here and not by the client:
 *
 *   generate -b localhost:9092 -t orders --records 10000 --keys 500 --seed 1
 *
 * prints what was produced as one JSON object on stdout; --list FILE writes a line for each record delivered.
 */
#include "generate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json.h"

struct words {
	const char *format, *partitioner, *transactions;
};

static void understand(struct generate_options *o, const struct words *words)
{
	static const char *const partitioners[] = { "murmur2", "crc32", "random", NULL };
	static const char *const modes[] = { "none", "committed", "aborted", "mixed", "interleaved", "open", NULL };

	opts_need(o->common.brokers, "brokers");
	opts_need(o->common.topic, "topic");
	o->format = (enum made_format)opts_choice("--key-format", words->format, made_formats);
	o->placement = (enum placement)opts_choice("--partitioner", words->partitioner, partitioners);
	o->transactions = (enum transactions)opts_choice("--transactions", words->transactions, modes);
	if (o->records < 0 || o->keys < 1 || o->value_size < 0 || o->txn_size < 1 || o->producers < 1 ||
	    o->producers > 64)
		die_usage("a number is out of its range");
}

static void options_read(struct generate_options *o, int argc, char **argv)
{
	struct words words = { "raw", "murmur2", "none" };
	const struct opt opts[] = {
		COMMON_KAFKA_OPTS(&o->common),
		{ "records", OPT_INT, &o->records, "how many, default 1000" },
		{ "keys", OPT_INT, &o->keys, "how many different keys, default 100" },
		{ "first-key", OPT_INT, &o->first_key, "number of the first key, default 0" },
		{ "key-format", OPT_TEXT, &words.format, "raw, binary, odd, int32, int64 or uuid" },
		{ "seed", OPT_INT, &o->seed, "the same seed, the same records" },
		{ "partitions", OPT_INT, &o->partitions, "place by this count, default the topic's own" },
		{ "old-partitions", OPT_INT, &o->old_partitions, "place by this older count" },
		{ "partitioner", OPT_TEXT, &words.partitioner, "murmur2, crc32 or random" },
		{ "value-size", OPT_INT, &o->value_size, "bytes a value, default 32" },
		{ "numbers", OPT_FLAG, &o->numbers, "values are decimal numbers in [-1000,1000]" },
		{ "null-keys", OPT_REAL, &o->null_keys, "share of records without a key" },
		{ "tombstones", OPT_REAL, &o->tombstones, "share of records without a value" },
		{ "poison", OPT_REAL, &o->poison, "share of values that start with \"poison\"" },
		{ "rate", OPT_INT, &o->rate, "records a second, default as fast as it goes" },
		{ "start-ts", OPT_INT, &o->start_ts, "timestamp of the first record, ms since 1970" },
		{ "duration", OPT_INT, &o->duration, "milliseconds the timestamps spread over from there" },
		{ "transactions", OPT_TEXT, &words.transactions, "committed, aborted, mixed, interleaved or open" },
		{ "producers", OPT_INT, &o->producers, "with interleaved: how many, default 4" },
		{ "txn-size", OPT_INT, &o->txn_size, "records a transaction, default 20" },
		{ "txn-timeout", OPT_INT, &o->txn_timeout, "milliseconds until the broker aborts it, default 60000" },
		{ "abort-rate", OPT_REAL, &o->abort_rate, "with mixed and interleaved: share aborted, default 0.3" },
		{ "hold", OPT_FLAG, &o->hold, "with open: wait for the end of stdin" },
		{ "list", OPT_TEXT, &o->list, "write each record delivered to this file, a JSON object a line" },
		OPTS_END,
	};

	opts_parse(opts, argc, argv, NULL);
	understand(o, &words);
}

static int32_t place(struct generator *g, struct bytes key)
{
	int32_t n = g->opt->old_partitions ? (int32_t)g->opt->old_partitions : g->partitions;

	if (!key.data || g->opt->placement == PLACE_RANDOM)
		return (int32_t)prng_below(&g->prng, (uint64_t)n);
	/* An empty key has no place under CRC32: librdkafka would draw one. */
	if (g->opt->placement == PLACE_CRC32 && key.len)
		return kafka_crc32(key, n);
	return kafka_home(key, n);
}

/* Timestamps spread evenly over the duration; 0 lets the client take the time of day. */
static int64_t timestamp(const struct generate_options *o, int64_t i)
{
	if (!o->start_ts)
		return 0;
	return o->start_ts + (int64_t)((double)o->duration * (double)i / (double)o->records);
}

static void make(struct generator *g, int64_t i, struct buf *key, struct buf *value)
{
	const struct generate_options *o = g->opt;
	struct outgoing out = { .topic = o->common.topic, .timestamp = timestamp(o, i) };
	bool poison = prng_chance(&g->prng, o->poison);

	made_key(o->format, o->first_key + (int64_t)prng_below(&g->prng, (uint64_t)o->keys), key);
	if (o->numbers)
		made_number(&g->prng, value);
	else
		made_value(&g->prng, i, (size_t)o->value_size, value);
	out.key = buf_bytes(key);
	out.value = buf_bytes(value);
	if (prng_chance(&g->prng, o->null_keys))
		out.key = (struct bytes){ NULL, 0 };
	if (prng_chance(&g->prng, o->tombstones)) {
		out.value = (struct bytes){ NULL, 0 };
	} else if (poison) {
		buf_clear(value);
		buf_format(value, "poison-%lld", (long long)i);
		out.value = buf_bytes(value);
	}
	g->null_keys += !out.key.data;
	g->tombstones += !out.value.data;
	g->poison += poison && out.value.data;
	out.partition = place(g, out.key);
	sources_produce(g, &out);
}

/* Sleep where more was produced than the rate allows until now. */
static void keep_rate(const struct generate_options *o, int64_t done, int64_t begun)
{
	int64_t due;

	if (!o->rate)
		return;
	due = begun + done * 1000 / o->rate;
	if (due > tick_ms())
		sleep_ms(due - tick_ms());
}

static void make_all(struct generator *g)
{
	struct buf key = { 0 }, value = { 0 };
	int64_t begun = tick_ms();

	for (int64_t i = 0; i < g->opt->records; i++) {
		make(g, i, &key, &value);
		keep_rate(g->opt, i + 1, begun);
	}
	sources_finish(g);
	buf_release(&key);
	buf_release(&value);
}

static void summary(const struct generator *g)
{
	struct buf b = { 0 };

	json_open(&b, NULL, '{');
	json_text(&b, "topic", g->opt->common.topic);
	json_int(&b, "partitions", g->partitions);
	json_int(&b, "records", g->opt->records);
	json_int(&b, "committed", g->outcomes[OUTCOME_COMMITTED]);
	json_int(&b, "aborted", g->outcomes[OUTCOME_ABORTED]);
	json_int(&b, "open", g->outcomes[OUTCOME_OPEN]);
	json_int(&b, "null_keys", g->null_keys);
	json_int(&b, "tombstones", g->tombstones);
	json_int(&b, "poison", g->poison);
	json_open(&b, "by_partition", '[');
	for (int32_t p = 0; p < g->partitions; p++) {
		json_open(&b, NULL, '{');
		json_int(&b, "partition", p);
		json_int(&b, "records", g->spans[p].records);
		json_int(&b, "first", g->spans[p].first);
		json_int(&b, "last", g->spans[p].last);
		json_close(&b, '}');
	}
	json_close(&b, ']');
	json_close(&b, '}');
	json_print(&b);
	buf_release(&b);
}

static void topic_look(struct generator *g)
{
	struct sink asker = { 0 };

	sink_open(&asker, NULL, &g->opt->common);
	g->partitions = kafka_partitions_wait(asker.rk, g->opt->common.topic);
	sink_close(&asker);
	if (g->opt->old_partitions > g->partitions || g->opt->partitions > g->partitions)
		die_usage("%s has only %d partitions", g->opt->common.topic, g->partitions);
	g->spans = xmalloc((size_t)g->partitions * sizeof(*g->spans));
	for (int32_t p = 0; p < g->partitions; p++)
		g->spans[p] = (struct span){ .first = -1, .last = -1 };
	if (g->opt->partitions)
		g->partitions = (int32_t)g->opt->partitions;
}

static void list_open(struct generator *g)
{
	if (g->opt->list && !(g->list = fopen(g->opt->list, "w")))
		die("cannot write %s: %s", g->opt->list, strerror(errno));
}

static void list_close(struct generator *g)
{
	if (g->list && fclose(g->list))
		die("cannot write %s: %s", g->opt->list, strerror(errno));
}

int main(int argc, char **argv)
{
	struct generate_options o = { .records = 1000,
				      .keys = 100,
				      .value_size = 32,
				      .producers = 4,
				      .txn_size = 20,
				      .txn_timeout = 60000,
				      .abort_rate = 0.3 };
	struct generator g = { .opt = &o };
	char part[256];

	common_init(&o.common);
	options_read(&o, argc, argv);
	prng_seed(&g.prng, (uint64_t)o.seed);
	topic_look(&g);
	list_open(&g);
	sources_open(&g);
	make_all(&g);
	list_close(&g);
	summary(&g);
	while (o.hold && read(STDIN_FILENO, part, sizeof(part)) > 0)
		;
	/* Without a farewell the transaction stays open until the broker's timeout. */
	if (o.transactions == TXN_OPEN)
		_exit(0);
	sources_close(&g);
	free(g.spans);
	free(o.common.properties.item);
	return 0;
}
