/* Partitioners against the vectors, librdkafka, a second form of KafkaJS's arithmetic, and themselves unaligned. */
#include "sql/partitioner.h"
#include "sql/placer.h"

#include <librdkafka/rdkafka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sql/keytext.h"
#include "sql/mem.h"

#define VECTORS "tests/unit/partitioner_vectors.tsv"
#define PAGE    "docs/config.md"
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

/* Vectors of a part of the key. */
static const struct {
	const char *name, *placer;
} parts[] = {
	{ "streams_time_windowed_topic(murmur2,strip_tail8)", "murmur2/windowed" },
	{ "streams_session_windowed_topic(murmur2,strip_tail16)", "murmur2/session" },
	{ "streams_window_store_changelog(murmur2,strip_tail12)", "murmur2/window-store" },
	{ "streams_outerjoin_shared_changelog(murmur2,skip_head9)", "murmur2/outer-join" },
	{ "streams_fk_subscription_changelog(murmur2,fk_field)", "murmur2/foreign-key" },
	{ "registry_id_ignored(murmur2,strip_head5)", "murmur2/confluent" },
	{ "rdkafka_ruby_partition_key_size_bug(crc32,first_charcount_bytes)", "crc32/characters" },
};

static int32_t whole_key(const struct partitioner *p, const void *key, size_t len, int32_t n)
{
	return placer_partition(&(struct placer){ p, KEYPART_WHOLE }, key, len, n);
}

struct vector {
	const char *name;
	uint8_t key[KEY_MAX];
	size_t len;
	long long hash;
	int32_t n, partition;
};

/* What placed the key of a vector. */
static struct placer vector_placer(const struct vector *v)
{
	const char *text = v->name;
	struct placer placer;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strcmp(v->name, parts[i].name) == 0)
			text = parts[i].placer;
	if (!placer_parse(text, &placer))
		fail_msg("a vector of an unknown partitioner: %s", v->name);
	return placer;
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

static void check_vector(const struct vector *v, size_t *seen)
{
	struct placer placer = vector_placer(v);
	struct key_bytes part;
	uint32_t hash;

	assert_int_equal(placer_partition(&placer, v->key, v->len, v->n), v->partition);
	assert_true(keypart_of(placer.part, (struct key_bytes){ v->key, v->len }, &part));
	assert_true(placer.partitioner->hash(part.bytes, part.len, &hash));
	/* Vectors write some hashes signed and some after the sign was lost. */
	if ((uint32_t)v->hash != hash && v->hash != (hash & 0x7fffffff))
		fail_msg("%s: hash %lld expected, got %u", v->name, v->hash, hash);
	seen[placer.partitioner - partitioners]++;
}

/* Which keys have which part: too short, or of another shape, they have none, and no home. */
static void test_parts(void **state)
{
	static const struct {
		const char *word, *key;
		size_t len;
		int from, size; /* size -1: none */
	} rows[] = {
		{ "whole", "", 0, 0, 0 },
		{ "windowed", "12345678", 8, 0, 0 },
		{ "windowed", "1234567", 7, 0, -1 },
		{ "session", "a1234567812345678", 17, 0, 1 },
		{ "session", "123456781234567", 15, 0, -1 },
		{ "window-store", "a123456781234", 13, 0, 1 },
		{ "window-store", "12345678123", 11, 0, -1 },
		{ "outer-join", "12345678\0k", 10, 9, 1 },
		{ "outer-join", "12345678\2k", 10, 0, -1 },
		{ "outer-join", "12345678", 8, 0, -1 },
		{ "foreign-key", "\0\0\0\2fkpk", 8, 4, 2 },
		{ "foreign-key", "\0\0\0\4fkpk", 8, 4, 4 },
		{ "foreign-key", "\0\0\0\5fkpk", 8, 0, -1 },
		{ "foreign-key", "\xff\xff\xff\xff", 4, 0, -1 },
		{ "foreign-key", "\0\0\0", 3, 0, -1 },
		{ "confluent", "\0\0\0\0\7k", 6, 5, 1 },
		{ "confluent", "\1\0\0\0\7k", 6, 0, -1 },
		{ "confluent", "\0\0\0\0", 4, 0, -1 },
		{ "confluent-guid", "\0011234567812345678k", 18, 17, 1 },
		{ "confluent-guid", "\001123456781234567", 16, 0, -1 },
		{ "glue", "\3\0001234567812345678k", 19, 18, 1 },
		{ "glue", "\3\0051234567812345678", 18, 18, 0 },
		{ "glue", "\3\0011234567812345678", 18, 0, -1 },
		{ "glue", "\3", 1, 0, -1 },
		{ "characters", "\xd0\xba\xd0\xbb", 4, 0, 2 },
		{ "characters", "\xd0", 1, 0, -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct key_bytes key = { (const uint8_t *)rows[i].key, rows[i].len }, out;
		struct placer placer = { &partitioners[PARTITIONER_murmur2], KEYPART_COUNT };

		assert_true(keypart_by_word(rows[i].word, strlen(rows[i].word), &placer.part));
		assert_string_equal(keypart_word(placer.part), rows[i].word);
		if (keypart_of(placer.part, key, &out) != (rows[i].size >= 0))
			fail_msg("row %zu, %s", i, rows[i].word);
		assert_int_equal(placer_partition(&placer, key.bytes, key.len, 7),
				 rows[i].size < 0 ? -1 : home_partition(key.bytes + rows[i].from, (size_t)rows[i].size, 7));
		if (rows[i].size < 0)
			continue;
		assert_ptr_equal(out.bytes, key.bytes + rows[i].from);
		assert_int_equal(out.len, rows[i].size);
	}
}

/* A placer and its text; "/whole" says nothing. */
static void test_placers(void **state)
{
	static const char *const wrong[] = { "", "/", "murmur", "murmur2/", "murmur2/Windowed", "crc32/windowed/whole",
					     "/windowed", "murmur2 " };
	struct placer placer;
	char text[PLACER_TEXT];

	(void)state;
	for (int p = 0; p < PARTITIONER_COUNT; p++)
		for (int part = 0; part < KEYPART_COUNT; part++) {
			placer = (struct placer){ &partitioners[p], (enum keypart)part };
			placer_text(&placer, text);
			assert_int_equal(!strchr(text, '/'), part == KEYPART_WHOLE);
			placer = (struct placer){ 0 };
			assert_true(placer_parse(text, &placer));
			assert_ptr_equal(placer.partitioner, &partitioners[p]);
			assert_int_equal(placer.part, part);
		}
	assert_true(placer_parse("crc32/whole", &placer));
	placer_text(&placer, text);
	assert_string_equal(text, "crc32");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_false(placer_parse(wrong[i], &placer));
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
			assert_int_equal(whole_key(&partitioners[pairs[j].ours], key, len, n),
					 pairs[j].theirs(NULL, key, len, n, NULL, NULL));
		/* Of the empty key it draws lots. */
		if (len)
			assert_int_equal(whole_key(&partitioners[PARTITIONER_crc32], key, len, n),
					 rd_kafka_msg_partitioner_consistent_random(NULL, key, len, n, NULL, NULL));
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
			int32_t expected = whole_key(&partitioners[p], key, len, 1009);

			for (size_t alignment = 1; alignment < 4; alignment++) {
				memcpy(moved + alignment, key, len);
				assert_int_equal(whole_key(&partitioners[p], moved + alignment, len, 1009),
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
		int32_t partition = whole_key(&partitioners[i], "\xff\xfe\x80", 3, 12);
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
	assert_null(partitioner_by_name("murmur", 6));
	assert_null(partitioner_by_name("", 0));
	assert_string_equal(partitioners[0].name, "murmur2");
	for (size_t i = 0; i < PARTITIONER_COUNT; i++) {
		assert_ptr_equal(partitioner_by_name(partitioners[i].name, strlen(partitioners[i].name)), &partitioners[i]);
		assert_true(strlen(partitioners[i].users) > 0);
	}
	assert_int_equal(murmur2(NULL, 0), 275646681);
	assert_int_equal(home_partition(NULL, 0, 12), 9);
}

static char *read_page(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = xalloc(1 << 20);

	assert_non_null(file);
	assert_int_not_equal(fread(text, 1, (1 << 20) - 1, file), 0);
	fclose(file);
	return text;
}

/* docs/config.md lists them all, with who uses them. */
static void test_page(void **state)
{
	char *page = read_page(PAGE), row[1024];

	(void)state;
	for (int i = 0; i < PARTITIONER_COUNT; i++) {
		snprintf(row, sizeof(row), "\n| `%s` | %s |\n", partitioners[i].name, partitioners[i].users);
		if (!strstr(page, row))
			fail_msg("%s has no row%s", PAGE, row);
	}
	for (int i = 0; i < KEYPART_COUNT; i++) {
		snprintf(row, sizeof(row), "\n| `%s` | %s |\n", keypart_word((enum keypart)i), keypart_what((enum keypart)i));
		if (!strstr(page, row))
			fail_msg("%s has no row%s", PAGE, row);
	}
	free(page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_page), cmocka_unit_test(test_parts), cmocka_unit_test(test_placers), cmocka_unit_test(test_vectors),		cmocka_unit_test(test_librdkafka),
		cmocka_unit_test(test_alignment),	cmocka_unit_test(test_kafkajs_doubles),
		cmocka_unit_test(test_not_applicable),	cmocka_unit_test(test_reductions),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
