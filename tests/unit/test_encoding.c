/* Pairs of encodings: what one key is tried as, and which pair is the explanation of a topic's keys. */
#include "analyzer/encoding_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sql/keyhash.h"
#include "sql/mem.h"

enum { PAIRS = KEY_FORMAT_COUNT * KEY_FORMAT_COUNT };

struct fixture {
	struct encoding_keys theirs;
	struct encoding_trial trial;
};

static void fixture_begin(struct fixture *f)
{
	*f = (struct fixture){ .theirs.threshold = INT64_MAX };
	f->theirs.prefixes[KEY_PREFIX_CONFLUENT].format = KEY_FORMAT_CONFLUENT_RAW;
	f->theirs.prefixes[KEY_PREFIX_MESSAGE].format = KEY_FORMAT_CONFLUENT_PROTOBUF_LONG;
	f->theirs.prefixes[KEY_PREFIX_GLUE].format = KEY_FORMAT_GLUE_RAW;
	f->trial.score = xarray(PAIRS, sizeof(*f->trial.score));
}

static void fixture_end(struct fixture *f)
{
	for (int i = 0; i < PAIRS; i++) {
		for (int j = 0; j < ENCODING_SAMPLES; j++) {
			buffer_release(&f->trial.score[i].samples[j].mine);
			buffer_release(&f->trial.score[i].samples[j].theirs);
		}
	}
	free(f->trial.score);
	buffer_release(&f->trial.text);
	buffer_release(&f->trial.whole);
	encoding_keys_release(&f->theirs);
}

/* The key of a text, behind the schema id 7 where the format has a prefix. */
static struct encoding_key key_of(enum key_format format, const char *text, int32_t partition, struct buffer *key)
{
	static const uint8_t confluent[6] = { 0, 0, 0, 0, 7, 0 }, glue[18] = { 3, 0, 1, 2, 3 };
	size_t prefix = key_format_prefix(format);

	buffer_clear(key);
	buffer_add(key, prefix == sizeof(glue) ? glue : confluent, prefix);
	assert_true(keyformat_parse(format, text, strlen(text), key));
	return (struct encoding_key){ key_hash(key->data, key->size), 1, key->data, key->size, partition };
}

static void add(struct fixture *f, enum key_format format, const char *text)
{
	struct buffer bytes = { 0 };
	struct encoding_key key = key_of(format, text, 1, &bytes);

	encoding_keys_add(&f->theirs, &key);
	buffer_release(&bytes);
}

static void try(struct fixture *f, enum key_format format, const char *text)
{
	struct buffer bytes = { 0 };
	struct encoding_key key = key_of(format, text, 2, &bytes);

	f->trial.keys = &f->theirs;
	encoding_try(&f->trial, &key);
	buffer_release(&bytes);
}

static const char *number(int n)
{
	static char text[16];

	snprintf(text, sizeof(text), "%d", n);
	return text;
}

/* Texts that all formats have: a number for those of numbers, a UUID for those of UUIDs. */
static const char *text_for(enum key_format mine, enum key_format theirs, int n)
{
	static char uuid[40];
	bool is_uuid = mine == KEY_FORMAT_UUID || mine == KEY_FORMAT_UUID_UPPER || theirs == KEY_FORMAT_UUID ||
		       theirs == KEY_FORMAT_UUID_UPPER;

	snprintf(uuid, sizeof(uuid), "%08x-89ab-cdef-0123-%012x", (unsigned)n * 2654435761u, (unsigned)n * 40503u);
	return is_uuid ? uuid : number(n * 1000 + 1000); /* four digits and more: hexadecimal and base64 have those */
}

static bool has_text(enum key_format format, const char *text)
{
	struct buffer key = { 0 };
	int has = keyformat_parse(format, text, strlen(text), &key);

	buffer_release(&key);
	return has;
}

/* Every pair of two formats that can hold the same texts explains such keys, or another that finds the same ones. */
static void test_every_pair(void **state)
{
	(void)state;
	for (int i = 0; i < PAIRS; i++) {
		enum key_format mine = (enum key_format)(i / KEY_FORMAT_COUNT), theirs = (enum key_format)(i % KEY_FORMAT_COUNT);
		struct fixture f;
		int64_t all = 0;

		if (mine == theirs)
			continue;
		fixture_begin(&f);
		for (int n = 0; n < 60; n++) {
			const char *text = text_for(mine, theirs, n);

			if (!has_text(mine, text) || !has_text(theirs, text))
				continue;
			all++;
			add(&f, theirs, text);
			try(&f, mine, text);
		}
		if (all >= 20) {
			int best = encoding_best(f.trial.score);

			assert_true(best >= 0);
			assert_int_equal(f.trial.score[best].same, all);
			assert_int_equal(f.trial.score[best].apart, all);
			assert_int_equal(f.trial.score[i].same, all);
			assert_int_equal(f.trial.score[i].print, f.trial.score[best].print);
		}
		fixture_end(&f);
	}
}

/* found of 100 int64 keys are there as text, and the other topic has others besides; same are there as they are. */
static int best_of(int found, int same)
{
	struct fixture f;
	int best;

	fixture_begin(&f);
	for (int n = 0; n < 1000; n++)
		add(&f, KEY_FORMAT_RAW, number(n < found ? n : n + 100000));
	for (int n = 0; n < same; n++)
		add(&f, KEY_FORMAT_INT64, number(n));
	for (int n = 0; n < 100; n++)
		try(&f, KEY_FORMAT_INT64, number(n));
	best = encoding_best(f.trial.score);
	fixture_end(&f);
	return best;
}

static void test_what_is_enough(void **state)
{
	int pair = KEY_FORMAT_INT64 * KEY_FORMAT_COUNT + KEY_FORMAT_RAW;

	(void)state;
	assert_int_equal(best_of(100, 0), pair);
	assert_int_equal(best_of(50, 0), pair);
	assert_int_equal(best_of(49, 0), -1);
	assert_int_equal(best_of(100, 80), pair); /* of those that are not there as they are, all */
	assert_int_equal(best_of(100, 81), -1);
	assert_int_equal(best_of(60, 20), pair);
	assert_int_equal(best_of(60, 21), -1);
	assert_int_equal(best_of(0, 0), -1);
	assert_int_equal(best_of(0, 100), -1);
}

/* Few keys are an accident, and so is what two pairs find of different keys. */
static void test_accidents(void **state)
{
	struct fixture f;

	(void)state;
	fixture_begin(&f);
	for (int n = 0; n < 19; n++) {
		add(&f, KEY_FORMAT_RAW, number(n));
		try(&f, KEY_FORMAT_INT64, number(n));
	}
	assert_int_equal(encoding_best(f.trial.score), -1);
	add(&f, KEY_FORMAT_RAW, number(19));
	try(&f, KEY_FORMAT_INT64, number(19));
	assert_true(encoding_best(f.trial.score) >= 0);
	for (int n = 1; n < 20; n++) {
		add(&f, KEY_FORMAT_INT32, number(n));
		try(&f, KEY_FORMAT_INT64, number(n));
	}
	fixture_end(&f);

	fixture_begin(&f);
	for (int n = 1; n < 100; n++) {
		add(&f, KEY_FORMAT_RAW, number(n));
		if (n > 10)
			add(&f, KEY_FORMAT_INT32, number(n));
	}
	for (int n = 1; n < 100; n++)
		try(&f, KEY_FORMAT_INT64, number(n));
	assert_int_equal(encoding_best(f.trial.score), -1);
	fixture_end(&f);
}

/* The newest record says where a key is; keys outside the sample of the other topic are not asked for. */
static void test_samples(void **state)
{
	struct encoding_keys keys = { .threshold = INT64_MAX };
	struct buffer bytes = { 0 };
	struct encoding_key key = key_of(KEY_FORMAT_RAW, "a", 3, &bytes);
	struct fixture f;

	(void)state;
	key.last_ms = 10;
	encoding_keys_add(&keys, &key);
	key.partition = 4;
	key.last_ms = 9;
	encoding_keys_add(&keys, &key);
	assert_int_equal(encoding_keys_find(&keys, key.hash)->partition, 3);
	key.last_ms = 11;
	encoding_keys_add(&keys, &key);
	assert_int_equal(encoding_keys_find(&keys, key.hash)->partition, 4);
	assert_int_equal(keys.count, 1);
	encoding_keys_release(&keys);
	buffer_release(&bytes);

	fixture_begin(&f);
	f.theirs.threshold = INT64_MAX / 4;
	for (int n = 0; n < 1000; n++)
		try(&f, KEY_FORMAT_INT64, number(n));
	assert_in_range(f.trial.score[KEY_FORMAT_INT64 * KEY_FORMAT_COUNT + KEY_FORMAT_RAW].compared, 200, 300);
	fixture_end(&f);
}

/* Of how many keys a sample tells: the same number, however the threshold was halved. */
static void test_wanted(void **state)
{
	(void)state;
	assert_int_equal(encoding_wanted(INT64_MAX), 2000);
	for (int halved = 1; halved < 63; halved++) {
		int64_t wanted = halved < 5 ? 2000 << halved : 64000;

		assert_int_equal(encoding_wanted(INT64_C(1) << (63 - halved)), wanted);
		assert_int_equal(encoding_wanted(INT64_MAX >> halved), wanted);
	}
	assert_int_equal(encoding_wanted(0), 64000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_pair),
		cmocka_unit_test(test_what_is_enough),
		cmocka_unit_test(test_accidents),
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
