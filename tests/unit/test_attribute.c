/*
 * Attribution: which partitioner put keys off their home, from the keys alone. The heart of it is a simulation, in
 * which no answer may ever be wrong.
 */
#include "analyzer/attribute.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/hypotheses.h"
#include "sql/mem.h"

#ifdef __SANITIZE_ADDRESS__
#define SLOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLOW 1
#endif
#endif

#ifdef SLOW
enum { TRIALS = 600, MIXTURES = 20 };
#else
enum { TRIALS = 10000, MIXTURES = 150 };
#endif

enum { KEY_ROOM = 48, COUNT_LEAST = 2, COUNT_MOST = 64 };

static uint64_t random_state;

/* splitmix64: a fixed sequence from a fixed seed. */
static uint64_t random_next(void)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint64_t random_below(uint64_t n)
{
	return random_next() % n;
}

/* --- keys -------------------------------------------------------------------------------------------------------- */

#define SHAPES(X)        X(TEXT) X(UUID) X(LONG) X(SEQUENCE) X(BINARY)
#define SHAPE_ENUM(name) SHAPE_##name,
enum shape { SHAPES(SHAPE_ENUM) SHAPE_COUNT };

/* Keys of one shape, each of them once. */
struct maker {
	enum shape shape;
	uint64_t next;
};

static size_t make_uuid(uint8_t *out)
{
	uint64_t a = random_next(), b = random_next();

	return (size_t)snprintf((char *)out, KEY_ROOM, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(a >> 32),
				(unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xfff), (unsigned)(0x8000 | (b >> 50)),
				(unsigned long long)(b & 0xffffffffffff));
}

static size_t make_key(struct maker *maker, uint8_t *out)
{
	uint64_t number = maker->shape == SHAPE_LONG ? random_below(1u << 31) : maker->next;
	size_t size = 8;

	maker->next += maker->shape == SHAPE_TEXT ? 1 + random_below(5) : 1;
	if (maker->shape == SHAPE_TEXT)
		return (size_t)snprintf((char *)out, KEY_ROOM, "user-%llu", (unsigned long long)number);
	if (maker->shape == SHAPE_UUID)
		return make_uuid(out);
	if (maker->shape == SHAPE_BINARY)
		size = 5 + random_below(28);
	for (size_t i = 0; i < size; i++)
		out[i] = (uint8_t)(maker->shape == SHAPE_BINARY ? random_next() : number >> (8 * (7 - i)));
	return size;
}

/* --- a topic ----------------------------------------------------------------------------------------------------- */

/* What was seen of a topic. */
struct topic {
	struct attribute_seen *seen;
	struct key_bytes *other;
	size_t seen_n, other_n;
	int32_t n;
	struct placer own;
};

static void topic_add(struct topic *topic, struct key_bytes key, int32_t partition)
{
	int32_t home = placer_partition(&topic->own, key.bytes, key.len, topic->n);
	struct key_bytes copy = { xmemdup(key.bytes, key.len), key.len };

	if (home == partition) {
		topic->other = xgrow(topic->other, topic->other_n + 1, sizeof(*topic->other));
		topic->other[topic->other_n++] = copy;
		return;
	}
	topic->seen = xgrow(topic->seen, topic->seen_n + 1, sizeof(*topic->seen));
	topic->seen[topic->seen_n++] = (struct attribute_seen){ copy, partition };
}

/* n keys, placed by a partitioner over a part modulo count; at NULL: by chance. */
static void topic_fill(struct topic *topic, struct maker *maker, const struct attribute_placement *at, size_t n)
{
	uint8_t key[KEY_ROOM];

	for (size_t i = 0; i < n; i++) {
		size_t size = make_key(maker, key);
		int32_t partition = at ? placer_partition(&at->placer, key, size, at->partitions)
				       : (int32_t)random_below((uint64_t)topic->n);

		if (partition >= 0 && partition < topic->n)
			topic_add(topic, (struct key_bytes){ key, size }, partition);
	}
}

static void topic_release(struct topic *topic)
{
	for (size_t i = 0; i < topic->seen_n; i++)
		free((void *)topic->seen[i].key.bytes);
	for (size_t i = 0; i < topic->other_n; i++)
		free((void *)topic->other[i].bytes);
	free(topic->seen);
	free(topic->other);
}

/* An order that has nothing to do with the placement. */
static void shuffle(struct topic *topic)
{
	for (size_t i = topic->seen_n; i > 1; i--) {
		size_t j = random_below(i);
		struct attribute_seen seen = topic->seen[i - 1];

		topic->seen[i - 1] = topic->seen[j];
		topic->seen[j] = seen;
	}
}

static struct attribute_result ask(const struct topic *topic)
{
	struct key_bytes *sampled = xarray(topic->seen_n + topic->other_n, sizeof(*sampled));
	struct attribute_input in = { .seen = topic->seen,
				      .seen_n = topic->seen_n,
				      .sampled = sampled,
				      .sampled_n = topic->seen_n + topic->other_n,
				      .partitions = topic->n,
				      .own = topic->own };
	struct attribute_result out = { 0 };

	for (size_t i = 0; i < topic->seen_n; i++)
		sampled[i] = topic->seen[i].key;
	for (size_t i = 0; i < topic->other_n; i++)
		sampled[topic->seen_n + i] = topic->other[i];
	attribute(&in, &out);
	free(sampled);
	return out;
}

static const struct placer murmur2_whole = { &partitioners[PARTITIONER_murmur2], KEYPART_WHOLE };

static struct attribute_placement placement(int partitioner, enum keypart part, int32_t partitions)
{
	return (struct attribute_placement){ { &partitioners[partitioner], part }, partitions, 0 };
}

static bool has(const struct attribute_cause *cause, const struct attribute_placement *at)
{
	for (size_t i = 0; i < cause->placement_n; i++)
		if (cause->placements[i].placer.partitioner == at->placer.partitioner &&
		    cause->placements[i].placer.part == at->placer.part &&
		    cause->placements[i].partitions == at->partitions)
			return true;
	return false;
}

/* --- simulation -------------------------------------------------------------------------------------------------- */

enum { RIGHT, AMBIGUOUS, NOTHING, WRONG, OUTCOMES };

static const size_t bins[] = { 4, 6, 8, 10, 12, 15, 20, 30, 50, 100, 200 };
enum { BINS = sizeof(bins) / sizeof(*bins) };

/* Outcomes by number of keys off home: bins[i - 1] <= keys < bins[i]. */
struct tally {
	const char *what;
	size_t outcome[BINS + 1][OUTCOMES];
	size_t same, lost; /* placements that are the topic's own; ambiguous, and the truth is not named */
};

static void print_tally(const struct tally *tally)
{
	print_message(
		"%s: wrong unique answers below; placed as the topic's own: %zu; truth not among those named: %zu\n"
		"  keys off home    right  ambiguous  nothing  wrong\n",
		tally->what, tally->same, tally->lost);
	for (size_t i = 0; i <= BINS; i++) {
		const size_t *o = tally->outcome[i];
		size_t all = o[RIGHT] + o[AMBIGUOUS] + o[NOTHING] + o[WRONG];

		if (all)
			print_message("  %3zu to %3zu  %5zu  %5.1f %%    %5.1f %%  %5.1f %%  %5zu\n",
				      i ? bins[i - 1] : 1, i < BINS ? bins[i] - 1 : 999, all,
				      100.0 * (double)o[RIGHT] / (double)all,
				      100.0 * (double)o[AMBIGUOUS] / (double)all,
				      100.0 * (double)o[NOTHING] / (double)all, o[WRONG]);
	}
}

static size_t bin_of(size_t keys)
{
	size_t i = 0;

	while (i < BINS && keys >= bins[i])
		i++;
	return i;
}

static void judge(const struct topic *topic, const struct attribute_placement *truth, struct tally *tally)
{
	struct attribute_result result = ask(topic);
	size_t *outcome = tally->outcome[bin_of(topic->seen_n)];

	for (size_t i = 0; i < result.n; i++) {
		bool named = has(&result.cause[i], truth);

		if (result.cause[i].classes == 1 && !named) {
			print_message("wrong: %s/%d/%d of %d with %zu keys: %s/%d/%d\n",
				      truth->placer.partitioner->name, (int)truth->placer.part, truth->partitions,
				      topic->n, topic->seen_n, result.cause[i].placements[0].placer.partitioner->name,
				      (int)result.cause[i].placements[0].placer.part,
				      result.cause[i].placements[0].partitions);
			outcome[WRONG]++;
		} else if (result.cause[i].classes == 1) {
			outcome[RIGHT]++;
		} else {
			outcome[AMBIGUOUS]++;
			tally->lost += !named && !result.cause[i].more;
		}
	}
	outcome[NOTHING] += result.n == 0;
	attribute_release(&result);
}

static void trial(const struct attribute_placement *truth, int32_t n, enum shape shape, struct tally *tally)
{
	struct topic topic = { .n = n, .own = murmur2_whole };
	struct maker maker = { shape, random_below(1000000) };

	topic_fill(&topic, &maker, truth, 8 + random_below(193));
	if (random_below(2))
		topic_fill(&topic, &maker, &(struct attribute_placement){ murmur2_whole, n, 0 }, 300);
	if (topic.seen_n)
		judge(&topic, truth, tally);
	else
		tally->same++;
	topic_release(&topic);
}

static size_t wrong_of(const struct tally *tally)
{
	size_t wrong = 0;

	for (size_t i = 0; i <= BINS; i++)
		wrong += tally->outcome[i][WRONG];
	return wrong;
}

static void test_simulation(void **state)
{
	struct tally tally = { .what = "present count" };

	(void)state;
	random_state = 1;
	for (int i = 0; i < TRIALS; i++) {
		struct attribute_placement truth =
			placement(1 + i % (PARTITIONER_COUNT - 1), KEYPART_WHOLE,
				  COUNT_LEAST + i / (PARTITIONER_COUNT - 1) % (COUNT_MOST - COUNT_LEAST + 1));

		trial(&truth, truth.partitions, (enum shape)random_below(SHAPE_COUNT), &tally);
	}
	print_tally(&tally);
	assert_int_equal(wrong_of(&tally), 0);
}

/* Any count up to the present one. */
static void test_simulation_of_counts(void **state)
{
	struct tally tally = { .what = "any count up to the present one" };

	(void)state;
	random_state = 2;
	for (int i = 0; i < TRIALS / 4; i++) {
		int32_t n = (int32_t)(COUNT_LEAST + random_below(COUNT_MOST - COUNT_LEAST + 1));
		struct attribute_placement truth = placement((int)random_below(PARTITIONER_COUNT), KEYPART_WHOLE,
							     (int32_t)(1 + random_below((uint64_t)n)));

		trial(&truth, n, (enum shape)random_below(SHAPE_COUNT), &tally);
	}
	print_tally(&tally);
	assert_int_equal(wrong_of(&tally), 0);
}

/* Parts that long keys of any kind have. */
static void test_simulation_of_parts(void **state)
{
	struct tally tally = { .what = "parts of keys" };

	(void)state;
	random_state = 8;
	for (int i = 0; i < TRIALS / 4; i++) {
		struct attribute_placement truth =
			placement((int)random_below(PARTITIONER_COUNT), (enum keypart)(1 + random_below(3)),
				  (int32_t)(COUNT_LEAST + random_below(COUNT_MOST - COUNT_LEAST + 1)));

		trial(&truth, truth.partitions, random_below(2) ? SHAPE_UUID : SHAPE_BINARY, &tally);
	}
	print_tally(&tally);
	assert_int_equal(wrong_of(&tally), 0);
}

/* Placed by nothing that is on the list: by chance, or by chance into few partitions. */
static void test_unknown_function(void **state)
{
	size_t answers = 0, asked = 0;

	(void)state;
	random_state = 3;
	for (int i = 0; i < TRIALS / 4; i++) {
		struct topic topic = { .n = (int32_t)(COUNT_LEAST + random_below(COUNT_MOST)), .own = murmur2_whole };
		struct maker maker = { (enum shape)random_below(SHAPE_COUNT), random_below(1000000) };
		size_t keys = 8 + random_below(random_below(20) ? 192 : 5000);
		uint64_t width = 1 + random_below((uint64_t)topic.n),
			 from = random_below((uint64_t)topic.n - width + 1);
		struct attribute_result result;

		for (size_t j = 0; j < keys; j++) {
			uint8_t key[KEY_ROOM];
			size_t size = make_key(&maker, key);

			topic_add(&topic, (struct key_bytes){ key, size }, (int32_t)(from + random_below(width)));
		}
		result = ask(&topic);
		for (size_t j = 0; j < result.n; j++) {
			print_message("answer: %s/%d/%d for %zu keys in [%d,%d) of %d, classes %zu\n",
				      result.cause[j].placements[0].placer.partitioner->name,
				      (int)result.cause[j].placements[0].placer.part,
				      result.cause[j].placements[0].partitions, topic.seen_n, (int)from,
				      (int)(from + width), topic.n, result.cause[j].classes);
			answers++;
		}
		asked++;
		attribute_release(&result);
		topic_release(&topic);
	}
	print_message("placed by chance: %zu topics, %zu answers\n", asked, answers);
	assert_int_equal(answers, 0);
}

/* --- mixtures ---------------------------------------------------------------------------------------------------- */

struct part_of_mixture {
	struct attribute_placement at; /* partitions 0: by chance */
	size_t keys;
};

static bool is_home(const struct attribute_placement *at, const struct topic *topic)
{
	return at->placer.partitioner == topic->own.partitioner && at->placer.part == topic->own.part &&
	       at->partitions == topic->n;
}

/* Every cause must be an answer, in any order, and nothing else may be. */
static void expect_mixture(int32_t n, enum shape shape, const struct part_of_mixture *parts)
{
	struct topic topic = { .n = n, .own = murmur2_whole };
	struct maker maker = { shape, 1 };
	struct attribute_result result;
	size_t causes = 0;

	for (size_t i = 0; parts[i].keys; i++)
		topic_fill(&topic, &maker, parts[i].at.partitions ? &parts[i].at : NULL, parts[i].keys);
	shuffle(&topic);
	result = ask(&topic);
	for (size_t i = 0; parts[i].keys; i++) {
		size_t found = 0;

		if (!parts[i].at.partitions || is_home(&parts[i].at, &topic))
			continue;
		causes++;
		for (size_t j = 0; j < result.n; j++)
			found += result.cause[j].classes == 1 && has(&result.cause[j], &parts[i].at);
		assert_int_equal(found, 1);
	}
	assert_int_equal(result.n, causes);
	attribute_release(&result);
	topic_release(&topic);
}

#define AT(name, part, n)                                                   \
	{                                                                   \
		{ &partitioners[PARTITIONER_##name], KEYPART_##part }, n, 0 \
	}

static void test_mixtures(void **state)
{
	static const struct part_of_mixture mixtures[][6] = {
		{ { AT(crc32, WHOLE, 12), 30 }, { AT(murmur2, WHOLE, 12), 2970 } },   /* 1 % */
		{ { AT(crc32, WHOLE, 12), 300 }, { AT(murmur2, WHOLE, 12), 2700 } },  /* 10 % */
		{ { AT(crc32, WHOLE, 12), 1500 }, { AT(murmur2, WHOLE, 12), 1500 } }, /* 50 % */
		{ { AT(crc32, WHOLE, 12), 6000 }, { AT(fnv1a, WHOLE, 12), 60 } },     /* 1 % of the broken */
		{ { AT(crc32, WHOLE, 12), 2700 }, { AT(fnv1a, WHOLE, 12), 300 } },
		{ { AT(crc32, WHOLE, 12), 1500 }, { AT(fnv1a, WHOLE, 12), 1500 } },
		{ { AT(crc32, WHOLE, 12), 100 }, { AT(fnv1a, WHOLE, 12), 100 }, { AT(xxhash32, WHOLE, 12), 100 } },
		{ { AT(crc32, WHOLE, 12), 1000 }, { AT(crc32_abs, WHOLE, 12), 1000 } }, /* siblings */
		{ { AT(murmur2_unsigned, WHOLE, 12), 1000 }, { AT(murmur2_abs, WHOLE, 12), 1000 } },
		{ { AT(murmur2, WHOLE, 6), 1000 }, { AT(murmur2, WHOLE, 3), 1000 } }, /* counts */
		{ { AT(murmur2, WHOLE, 6), 1000 }, { AT(crc32, WHOLE, 12), 1000 } },
		{ { AT(crc32, WHOLE, 12), 600 }, { { { 0 }, 0, 0 }, 3000 } }, /* beside chance */
		{ { AT(crc32, WHOLE, 12), 1500 }, { { { 0 }, 0, 0 }, 1500 } },
	};
	static const struct part_of_mixture windowed[] = { { AT(murmur2, WINDOWED, 12), 1000 },
							   { AT(crc32, WHOLE, 12), 1000 },
							   { { { 0 }, 0, 0 }, 0 } };

	(void)state;
	random_state = 4;
	for (size_t i = 0; i < sizeof(mixtures) / sizeof(*mixtures); i++)
		for (int shape = 0; shape < SHAPE_COUNT; shape++)
			expect_mixture(12, (enum shape)shape, mixtures[i]);
	expect_mixture(12, SHAPE_UUID, windowed);
}

/* Two or three placements and, in half of the topics, chance, in any shares: no answer but these may be given. */
static void test_simulation_of_mixtures(void **state)
{
	size_t answers = 0, ambiguous = 0, wrong = 0, truths = 0;

	(void)state;
	random_state = 11;
	for (int i = 0; i < MIXTURES; i++) {
		struct topic topic = { .n = (int32_t)(COUNT_LEAST + random_below(COUNT_MOST)), .own = murmur2_whole };
		struct maker maker = { (enum shape)random_below(SHAPE_COUNT), random_below(1000000) };
		struct attribute_placement at[3];
		size_t n = 2 + random_below(2);
		struct attribute_result result;

		for (size_t j = 0; j < n; j++) {
			int32_t count = random_below(4) ? topic.n : (int32_t)(1 + random_below((uint64_t)topic.n));

			at[j] = placement((int)random_below(PARTITIONER_COUNT), KEYPART_WHOLE, count);
			topic_fill(&topic, &maker, &at[j], 1 + random_below(random_below(2) ? 50 : 1000));
		}
		if (random_below(2))
			topic_fill(&topic, &maker, NULL, random_below(500));
		shuffle(&topic);
		result = ask(&topic);
		for (size_t j = 0; j < result.n; j++) {
			bool named = false;

			for (size_t k = 0; k < n; k++)
				named |= has(&result.cause[j], &at[k]);
			answers += result.cause[j].classes == 1;
			ambiguous += result.cause[j].classes > 1;
			wrong += result.cause[j].classes == 1 && !named;
		}
		truths += n;
		attribute_release(&result);
		topic_release(&topic);
	}
	print_message("mixtures: %zu answers and %zu ambiguous ones of %zu placements, %zu wrong\n", answers, ambiguous,
		      truths, wrong);
	assert_int_equal(wrong, 0);
}

/* --- answers ----------------------------------------------------------------------------------------------------- */

static struct attribute_result ask_of(struct topic *topic, const struct attribute_placement *at, enum shape shape,
				      size_t keys)
{
	struct maker maker = { shape, 1 };

	topic->own = topic->own.partitioner ? topic->own : murmur2_whole;
	topic_fill(topic, &maker, at, keys);
	return ask(topic);
}

/* Of a power of two, losing the sign one way or the other is the same, and one answer. */
static void test_power_of_two(void **state)
{
	struct attribute_placement at = placement(PARTITIONER_crc32_mask, KEYPART_WHOLE, 16);
	struct topic topic = { .n = 16 };
	struct attribute_result result = ask_of(&topic, &at, SHAPE_UUID, 1000);

	(void)state;
	assert_int_equal(result.n, 1);
	assert_int_equal(result.cause[0].classes, 1);
	assert_int_equal(result.cause[0].placement_n, 2);
	assert_string_equal(result.cause[0].placements[0].placer.partitioner->name, "crc32");
	assert_string_equal(result.cause[0].placements[1].placer.partitioner->name, "crc32_mask");
	assert_int_equal(result.cause[0].explained, topic.seen_n);
	assert_int_equal(result.left, 0);
	attribute_release(&result);
	topic_release(&topic);
}

/* Of a pipeline whose keys are rightly placed by another function, murmur2 is the culprit. */
static void test_own_partitioner(void **state)
{
	struct attribute_placement at = placement(PARTITIONER_murmur2, KEYPART_WHOLE, 12);
	struct topic topic = { .n = 12, .own = { &partitioners[PARTITIONER_crc32], KEYPART_WHOLE } };
	struct attribute_result result = ask_of(&topic, &at, SHAPE_TEXT, 500);

	(void)state;
	assert_int_equal(result.n, 1);
	assert_int_equal(result.cause[0].classes, 1);
	assert_true(has(&result.cause[0], &at));
	assert_int_equal(result.cause[0].placement_n, 1);
	attribute_release(&result);
	topic_release(&topic);
}

/* Too few keys: nothing, then several, then one. */
static void test_number_of_keys(void **state)
{
	static const struct {
		size_t keys, causes, classes;
	} asked[] = { { 3, 0, 0 }, { 5, 0, 0 }, { 40, 1, 1 } };
	struct attribute_placement at = placement(PARTITIONER_crc32, KEYPART_WHOLE, 12);

	(void)state;
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		struct topic topic = { .n = 12 };
		struct attribute_result result = ask_of(&topic, &at, SHAPE_TEXT, asked[i].keys);

		assert_int_equal(result.n, asked[i].causes);
		if (result.n)
			assert_int_equal(result.cause[0].classes, asked[i].classes);
		else
			assert_int_equal(result.left, topic.seen_n);
		attribute_release(&result);
		topic_release(&topic);
	}
}

/* The same keys in several partitions: no function of the key does that. */
static void test_same_key_in_several_partitions(void **state)
{
	struct topic topic = { .n = 12, .own = murmur2_whole };
	struct attribute_result result;

	(void)state;
	random_state = 5;
	for (int partition = 0; partition < 12; partition++) {
		struct maker maker = { SHAPE_TEXT, 1 };
		uint8_t key[KEY_ROOM];

		random_state = 6; /* the same keys again */
		for (int i = 0; i < 200; i++) {
			size_t size = make_key(&maker, key);

			topic_add(&topic, (struct key_bytes){ key, size }, partition);
		}
	}
	result = ask(&topic);
	assert_int_equal(result.n, 0);
	assert_int_equal(result.left, topic.seen_n);
	attribute_release(&result);
	topic_release(&topic);
}

/* Keys of one or two bytes, all of them. */
static void test_short_keys(void **state)
{
	struct attribute_placement at = placement(PARTITIONER_crc32, KEYPART_WHOLE, 12);
	struct topic topic = { .n = 12, .own = murmur2_whole };
	struct attribute_result result;

	(void)state;
	for (int i = 0; i < 1024; i++) {
		uint8_t key[2] = { (uint8_t)i, (uint8_t)(i >> 8) };
		size_t size = i < 256 ? 1 : 2;

		topic_add(&topic, (struct key_bytes){ key, size }, placer_partition(&at.placer, key, size, 12));
	}
	result = ask(&topic);
	assert_int_equal(result.n, 1);
	assert_int_equal(result.cause[0].classes, 1);
	assert_true(has(&result.cause[0], &at));
	attribute_release(&result);
	topic_release(&topic);
}

/* What does not say anything gives no cause: no key, one partition. */
static void test_nothing_to_say(void **state)
{
	struct topic topics[] = { { .n = 12, .own = murmur2_whole }, { .n = 1, .own = murmur2_whole } };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct attribute_result result = ask(&topics[i]);

		assert_int_equal(result.n, 0);
		assert_int_equal(result.left, 0);
		attribute_release(&result);
	}
}

/* Functions that differ only on hashes that hardly ever come are one class, and one answer. */
static void test_functions_that_hardly_differ(void **state)
{
	struct attribute_placement at = placement(PARTITIONER_kafka_node_keyed, KEYPART_WHOLE, 12);
	struct topic topic = { .n = 12 };
	struct attribute_result result = ask_of(&topic, &at, SHAPE_UUID, 1000);

	(void)state;
	assert_int_equal(result.n, 1);
	assert_int_equal(result.cause[0].classes, 1);
	assert_int_equal(result.cause[0].placement_n, 3);
	assert_string_equal(result.cause[0].placements[0].placer.partitioner->name, "java_string_mask");
	assert_string_equal(result.cause[0].placements[1].placer.partitioner->name, "kafka_node_keyed");
	assert_string_equal(result.cause[0].placements[2].placer.partitioner->name, "debezium_java_string");
	attribute_release(&result);
	topic_release(&topic);
}

/* Whether the key would be counted as a match. */
static bool matches(const struct placer *placer, int32_t count, const struct attribute_seen *seen)
{
	return placer_partition(placer, seen->key.bytes, seen->key.len, count) == seen->partition;
}

static int by_partition(const void *a, const void *b)
{
	const struct attribute_seen *x = a, *y = b;

	return (x->partition > y->partition) - (x->partition < y->partition);
}

/* Matches are counted without a division; they are what dividing says. */
static void test_matches(void **state)
{
	static const int32_t known[] = { 77, 3000000, INT32_MAX };
	struct topic topic = { .n = 31, .own = murmur2_whole };
	struct maker maker = { SHAPE_BINARY, 1 };
	struct hypotheses_keys keys = { 0 };
	struct hypotheses_counts counts;
	struct hypotheses h = { 0 };
	struct key_bytes *key;
	int32_t *partition;

	(void)state;
	random_state = 9;
	topic_fill(&topic, &maker, NULL, 300);
	qsort(topic.seen, topic.seen_n, sizeof(*topic.seen), by_partition);
	key = xarray(topic.seen_n, sizeof(*key));
	partition = xarray(topic.seen_n, sizeof(*partition));
	for (; keys.n < topic.seen_n; keys.n++) {
		key[keys.n] = topic.seen[keys.n].key;
		partition[keys.n] = topic.seen[keys.n].partition;
	}
	keys.key = key;
	keys.partition = partition;
	hypotheses_counts(topic.n, known, 3, &counts);
	assert_int_equal(counts.n, 126);
	hypotheses_match(&h, &keys, &counts);
	assert_in_range(h.placer_n, 4 * PARTITIONER_COUNT, KEYPART_COUNT * PARTITIONER_COUNT);
	for (size_t i = 0; i < h.placer_n; i++)
		for (size_t j = 0; j < counts.n; j++) {
			uint32_t want = 0;

			for (size_t k = 0; k < topic.seen_n; k++)
				want += matches(&h.placers[i], counts.count[j], &topic.seen[k]);
			assert_int_equal(h.matched[i * counts.n + j], want);
		}
	hypotheses_release(&h);
	free(counts.count);
	free(key);
	free(partition);
	topic_release(&topic);
}

/* Few partitions and many. */
static void test_counts(void **state)
{
	static const int32_t topics[] = { 1, 2, 3, 12, 255, 1024, 1025, 5000 };

	(void)state;
	random_state = 7;
	for (size_t i = 0; i < sizeof(topics) / sizeof(*topics); i++) {
		struct attribute_placement at = placement(PARTITIONER_crc32, KEYPART_WHOLE, topics[i]);
		struct topic topic = { .n = topics[i] };
		struct attribute_result result = ask_of(&topic, &at, SHAPE_BINARY, 400);

		assert_int_equal(result.n, topics[i] > 1);
		for (size_t j = 0; j < result.n; j++) {
			assert_int_equal(result.cause[j].classes, 1);
			assert_true(has(&result.cause[j], &at));
		}
		attribute_release(&result);
		topic_release(&topic);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_simulation),
		cmocka_unit_test(test_simulation_of_counts),
		cmocka_unit_test(test_simulation_of_parts),
		cmocka_unit_test(test_unknown_function),
		cmocka_unit_test(test_mixtures),
		cmocka_unit_test(test_simulation_of_mixtures),
		cmocka_unit_test(test_power_of_two),
		cmocka_unit_test(test_functions_that_hardly_differ),
		cmocka_unit_test(test_matches),
		cmocka_unit_test(test_own_partitioner),
		cmocka_unit_test(test_number_of_keys),
		cmocka_unit_test(test_same_key_in_several_partitions),
		cmocka_unit_test(test_short_keys),
		cmocka_unit_test(test_nothing_to_say),
		cmocka_unit_test(test_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
