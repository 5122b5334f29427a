/*
 * Attribution, the heart of its tests: a simulation of topics, in which no answer may ever be wrong. It prints how often
 * there is an answer.
 */
#include "analyzer/attribute.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "attribute_topic.h"

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

enum { COUNT_LEAST = 2, COUNT_MOST = 64 };

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_simulation),
		cmocka_unit_test(test_simulation_of_counts),
		cmocka_unit_test(test_simulation_of_parts),
		cmocka_unit_test(test_unknown_function),
		cmocka_unit_test(test_mixtures),
		cmocka_unit_test(test_simulation_of_mixtures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
