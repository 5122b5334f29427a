/* Partitioners against the vectors, librdkafka, a second form of KafkaJS's arithmetic, and themselves unaligned. */
#include "sql/partitioner.h"

#include <librdkafka/rdkafka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sql/keytext.h"

#define VECTORS "tests/unit/partitioner_vectors.tsv"
#define KEY_MAX 128

static uint64_t random_state;

/* splitmix64: a fixed sequence from a fixed seed. */
static uint64_t random_next(void)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* A random key at the given alignment in room, which has KEY_MAX + 4 bytes. */
static const uint8_t *random_key(uint8_t *room, size_t alignment, size_t *len)
{
	*len = random_next() % 4 ? random_next() % 24 : random_next() % KEY_MAX;
	for (size_t i = 0; i < *len; i++)
		room[alignment + i] = (uint8_t)random_next();
	return room + alignment;
}

static int32_t random_count(void)
{
	return random_next() % 8 ? (int32_t)(1 + random_next() % 200) : (int32_t)(1 + random_next() % INT32_MAX);
}

/* Vectors of a part of the key: which partitioner, and how many bytes are cut from its head and tail. */
static const struct slice {
	const char *name, *base;
	size_t head, tail;
} slices[] = {
	{ "streams_time_windowed_topic(murmur2,strip_tail8)", "murmur2", 0, 8 },
	{ "streams_session_windowed_topic(murmur2,strip_tail16)", "murmur2", 0, 16 },
	{ "streams_window_store_changelog(murmur2,strip_tail12)", "murmur2", 0, 12 },
	{ "streams_outerjoin_shared_changelog(murmur2,skip_head9)", "murmur2", 9, 0 },
	{ "registry_id_ignored(murmur2,strip_head5)", "murmur2", 5, 0 },
};

struct vector {
	const char *name;
	uint8_t key[KEY_MAX];
	size_t len;
	long long hash;
	int32_t n, partition;
};

/* Cuts the key to the part that is hashed. The partitioner, or NULL where the vector is of none we have. */
static const struct partitioner *vector_partitioner(struct vector *v)
{
	const struct partitioner *p = partitioner_by_name(v->name);

	for (size_t i = 0; !p && i < sizeof(slices) / sizeof(*slices); i++) {
		if (strcmp(v->name, slices[i].name) != 0)
			continue;
		p = partitioner_by_name(slices[i].base);
		v->len -= slices[i].head + slices[i].tail;
		memmove(v->key, v->key + slices[i].head, v->len);
	}
	if (!p && !strcmp(v->name, "streams_fk_subscription_changelog(murmur2,fk_field)")) {
		p = partitioner_by_name("murmur2");
		v->len = v->key[3];
		memmove(v->key, v->key + 4, v->len);
	}
	if (!p && !strcmp(v->name, "rdkafka_ruby_partition_key_size_bug(crc32,first_charcount_bytes)")) {
		size_t characters = 0;

		p = partitioner_by_name("crc32");
		for (size_t i = 0; i < v->len; i++)
			characters += (v->key[i] & 0xc0) != 0x80;
		v->len = characters;
	}
	return p;
}

static void parse_vector(char *line, struct vector *v)
{
	char *hex = strchr(line, '\t') + 1, *hash = strchr(hex, '\t') + 1, *n = strchr(hash, '\t') + 1;
	char *partition = strchr(n, '\t') + 1;

	hex[-1] = '\0';
	assert_int_equal(keyhex_read(hex, (size_t)(hash - 1 - hex), v->key, &v->len), 0);
	v->name = line;
	v->hash = strtoll(hash, NULL, 10);
	v->n = (int32_t)strtol(n, NULL, 10);
	v->partition = (int32_t)strtol(partition, NULL, 10);
}

static void check_vector(struct vector *v, size_t *seen)
{
	const struct partitioner *p = vector_partitioner(v);
	uint32_t hash;

	if (!p)
		fail_msg("a vector of an unknown partitioner: %s", v->name);
	assert_int_equal(partitioner_apply(p, v->key, v->len, v->n), v->partition);
	assert_true(p->hash(v->key, v->len, &hash));
	/* Vectors write some hashes signed and some after the sign was lost. */
	if ((uint32_t)v->hash != hash && v->hash != (hash & 0x7fffffff))
		fail_msg("%s: hash %lld expected, got %u", v->name, v->hash, hash);
	seen[p - partitioners]++;
}

static void test_vectors(void **state)
{
	FILE *file = fopen(VECTORS, "r");
	size_t seen[PARTITIONER_COUNT] = { 0 }, total = 0;
	char line[1024];

	(void)state;
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	while (fgets(line, sizeof(line), file)) {
		struct vector v;

		parse_vector(line, &v);
		check_vector(&v, seen);
		total++;
	}
	assert_int_equal(ferror(file), 0);
	fclose(file);
	assert_int_equal(total, 1755);
	for (size_t i = 0; i < PARTITIONER_COUNT; i++)
		if (seen[i] < 78)
			fail_msg("%s has only %zu vectors", partitioners[i].name, seen[i]);
}

typedef int32_t librdkafka_partitioner(const rd_kafka_topic_t *, const void *, size_t, int32_t, void *, void *);

static void test_librdkafka(void **state)
{
	static const struct {
		librdkafka_partitioner *theirs;
		int ours;
	} pairs[] = {
		{ rd_kafka_msg_partitioner_murmur2, PARTITIONER_murmur2 },
		{ rd_kafka_msg_partitioner_murmur2_random, PARTITIONER_murmur2 },
		{ rd_kafka_msg_partitioner_consistent, PARTITIONER_crc32 },
		{ rd_kafka_msg_partitioner_fnv1a, PARTITIONER_fnv1a },
		{ rd_kafka_msg_partitioner_fnv1a_random, PARTITIONER_fnv1a },
	};
	uint8_t room[KEY_MAX + 4];

	(void)state;
	random_state = 20;
	for (int i = 0; i < 200000; i++) {
		size_t len;
		const uint8_t *key = random_key(room, (size_t)i % 4, &len);
		int32_t n = random_count();

		for (size_t j = 0; j < sizeof(pairs) / sizeof(*pairs); j++)
			assert_int_equal(partitioner_apply(&partitioners[pairs[j].ours], key, len, n),
					 pairs[j].theirs(NULL, key, len, n, NULL, NULL));
		assert_int_equal(home_partition(key, len, n),
				 rd_kafka_msg_partitioner_murmur2(NULL, key, len, n, NULL, NULL));
	}
}

static void test_alignment(void **state)
{
	uint8_t room[KEY_MAX + 4], moved[KEY_MAX + 4];

	(void)state;
	random_state = 21;
	for (int i = 0; i < 20000; i++) {
		size_t len;
		const uint8_t *key = random_key(room, 0, &len);

		for (size_t p = 0; p < PARTITIONER_COUNT; p++) {
			int32_t expected = partitioner_apply(&partitioners[p], key, len, 1009);

			for (size_t alignment = 1; alignment < 4; alignment++) {
				memcpy(moved + alignment, key, len);
				assert_int_equal(partitioner_apply(&partitioners[p], moved + alignment, len, 1009),
						 expected);
			}
		}
	}
}

/* A JavaScript number times a constant, cut to 32 bits: the product rounds as every double does. */
static uint32_t js_double(uint32_t a)
{
	double product = (double)(int32_t)a * 0x5bd1e995;

	return (uint32_t)(int64_t)product;
}

/* KafkaJS 1's murmur2 as its source reads, in floating point. */
static uint32_t kafkajs_in_doubles(const uint8_t *key, size_t len)
{
	uint8_t padded[KEY_MAX + 8] = { 0 };
	uint32_t h = 0x9747b28c ^ (uint32_t)len;
	size_t tail = len & ~(size_t)3;

	if (len)
		memcpy(padded, key, len);
	for (size_t i = 0; i < len; i += 4) {
		uint32_t k = js_double(murmur2_load(padded + i));

		h = js_double(h) ^ js_double(k ^ k >> 24);
	}
	h ^= (uint32_t)padded[tail + 2] << 16 ^ (uint32_t)padded[tail + 1] << 8;
	if (tail < len)
		h = js_double(h ^ padded[tail]);
	h = js_double(h ^ h >> 13);
	return h ^ h >> 15;
}

static void test_kafkajs_doubles(void **state)
{
	const struct partitioner *p = &partitioners[PARTITIONER_kafkajs_legacy];
	uint8_t room[KEY_MAX + 4];

	(void)state;
	random_state = 22;
	for (int i = 0; i < 300000; i++) {
		size_t len;
		uint32_t hash;
		const uint8_t *key = random_key(room, (size_t)i % 4, &len);

		assert_true(p->hash(key, len, &hash));
		assert_int_equal(hash, kafkajs_in_doubles(key, len));
	}
}

static void test_not_applicable(void **state)
{
	static const char *const text_only[] = { "java_string_mask", "java_string_abs", "kafka_node_keyed",
						 "debezium_java_string", "murmur3_maxwell_abs" };
	size_t found = 0;

	(void)state;
	for (size_t i = 0; i < PARTITIONER_COUNT; i++) {
		int32_t partition = partitioner_apply(&partitioners[i], "\xff\xfe\x80", 3, 12);
		bool refuses = false;

		for (size_t j = 0; j < sizeof(text_only) / sizeof(*text_only); j++)
			refuses = refuses || !strcmp(partitioners[i].name, text_only[j]);
		assert_int_equal(partition == -1, refuses);
		found += refuses;
	}
	assert_int_equal(found, 5);
}

/* The corners of the reductions, where a sign is lost. */
static void test_reductions(void **state)
{
	static const struct {
		int id;
		uint32_t hash;
		int32_t n, partition;
	} rows[] = {
		{ PARTITIONER_murmur2, 0x80000000, 7, 0 },
		{ PARTITIONER_murmur2, 0xffffffff, 10, 7 },
		{ PARTITIONER_murmur2_unsigned, 0xffffffff, 10, 5 },
		{ PARTITIONER_murmur2_unsigned, 0x80000000, INT32_MAX, 1 },
		{ PARTITIONER_murmur2_abs, 0xffffffff, 10, 1 },
		{ PARTITIONER_murmur2_abs, 0x80000000, 10, 8 },
		{ PARTITIONER_java_string_abs, 0x80000000, 10, 0 },
		{ PARTITIONER_java_string_abs, 0x80000001, 10, 7 },
		{ PARTITIONER_debezium_java_string, 0x7fffffff, 10, 0 },
		{ PARTITIONER_debezium_java_string, 0xffffffff, 10, 0 },
		{ PARTITIONER_debezium_java_string, 0x7ffffffe, 10, 6 },
		{ PARTITIONER_kafka_node_keyed, 0x80000000, 10, 1 },
		{ PARTITIONER_kafka_node_keyed, 0x80000000, 1, 0 },
		{ PARTITIONER_kafka_node_keyed, 12, 10, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(partition_reduce(partitioners[rows[i].id].reduction, rows[i].hash, rows[i].n), rows[i].partition);
}

static void test_names(void **state)
{
	(void)state;
	assert_null(partitioner_by_name("murmur"));
	assert_null(partitioner_by_name(""));
	assert_string_equal(partitioners[0].name, "murmur2");
	for (size_t i = 0; i < PARTITIONER_COUNT; i++) {
		assert_ptr_equal(partitioner_by_name(partitioners[i].name), &partitioners[i]);
		assert_true(strlen(partitioners[i].users) > 0);
	}
	assert_int_equal(murmur2(NULL, 0), 275646681);
	assert_int_equal(home_partition(NULL, 0, 12), 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),		cmocka_unit_test(test_librdkafka),
		cmocka_unit_test(test_alignment),	cmocka_unit_test(test_kafkajs_doubles),
		cmocka_unit_test(test_not_applicable),	cmocka_unit_test(test_reductions),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
