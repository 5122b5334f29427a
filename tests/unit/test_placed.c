/* What placed says of each record of a chunk, against its key hashed and placed by itself. */
#include "analyzer/placed.h"

#include "fold_random.h"

enum { RECORDS = 600, ROUNDS = 400 };

/* A chunk of random keys, some of them null, some without the part that is hashed, some no UTF-8. */
struct made {
	struct chunk_view view;
	int64_t offset[RECORDS], ms[RECORDS];
	uint32_t key_at[RECORDS + 1];
	uint8_t bytes[RECORDS * 8], flags[RECORDS];
};

static void make(struct random *r, struct made *m)
{
	static const uint8_t flags[] = { 0, 0, 0, RECORD_TOMBSTONE, RECORD_NULL_KEY, RECORD_NULL_KEY | RECORD_NO_PART };
	int64_t kinds = below(r, 2) ? 6 : 4;
	uint32_t size = 0;

	m->view = (struct chunk_view){ .records = RECORDS, .offset = m->offset, .timestamp_ms = m->ms,
				       .key_at = m->key_at, .key_bytes = m->bytes, .flags = m->flags };
	for (size_t i = 0; i < RECORDS; i++) {
		m->offset[i] = (int64_t)i * 3 + below(r, 3);
		m->flags[i] = flags[below(r, kinds)];
		m->key_at[i] = size;
		for (int64_t len = m->flags[i] & RECORD_NULL_KEY ? 0 : below(r, 9); len > 0; len--)
			m->bytes[size++] = (uint8_t)(below(r, 20) ? 'a' + below(r, 26) : 0xff);
	}
	m->key_at[RECORDS] = size;
}

/* The topic's rules, anew in each round. */
struct rules {
	struct fold_topic topic;
	struct fold_partition part;
	int32_t count[3];
	int64_t stale_from[3];
};

static void make_rules(struct random *r, struct rules *rules)
{
	static const char *const placers[] = { "murmur2", "crc32", "murmur3_maxwell_abs", "murmur2/confluent" };

	*rules = (struct rules){ .count = { (int32_t)(2 + below(r, 12)), 2, 3 } };
	for (int i = 1; i < 3; i++) {
		rules->count[i] = (int32_t)(1 + below(r, 8));
		rules->stale_from[i] = below(r, 2) ? INT64_MAX : below(r, RECORDS * 3);
	}
	if (below(r, 5) == 0)
		rules->count[0] = -1;
	rules->topic = (struct fold_topic){ .count = rules->count, .count_n = 1 + (size_t)below(r, 3) };
	assert_true(placer_parse(placers[below(r, 4)], &rules->topic.placer));
	rules->part = (struct fold_partition){ .partition = (int32_t)below(r, 6), .stale_from = rules->stale_from };
}

/* Of one record with a key: home -1 where it has none. */
struct answer {
	int32_t home, ordinal;
	enum legal legal;
};

static struct answer answer_of(const struct rules *rules, const struct made *m, size_t i)
{
	const uint8_t *key = m->bytes + m->key_at[i];
	size_t size = m->key_at[i + 1] - m->key_at[i];
	struct answer a = { .home = -1, .ordinal = -1, .legal = LEGAL_NOT };

	if (placer_partition(&rules->topic.placer, key, size, 7) < 0)
		return a;
	a.home = rules->count[0] > 0 ? placer_partition(&rules->topic.placer, key, size, rules->count[0]) : 0;
	for (size_t j = rules->topic.count_n; j-- > 0;)
		if (rules->count[j] > 0 &&
		    placer_partition(&rules->topic.placer, key, size, rules->count[j]) == rules->part.partition)
			a.ordinal = (int32_t)j;
	if (a.ordinal == 0)
		a.legal = LEGAL_HOME;
	else if (a.ordinal > 0)
		a.legal = m->offset[i] < rules->stale_from[a.ordinal] ? LEGAL_OLDER : LEGAL_STALE;
	return a;
}

/* What is counted of a whole chunk. */
struct counts {
	size_t keyed, homed, strays, off_home, null_keys, no_part;
	struct placed_mark first, last;
};

static void check_record(const struct placed *p, const struct rules *rules, const struct made *m, size_t i,
			 struct counts *c)
{
	struct answer a = answer_of(rules, m, i);
	bool counted = a.home >= 0 && rules->count[0] > 0;
	size_t cells = rules->count[0] > 0 ? (size_t)rules->count[0] * LEGAL_COUNT : 0;

	assert_int_equal(p->record[c->keyed], i);
	assert_int_equal(p->hash[c->keyed], key_hash(m->bytes + m->key_at[i], m->key_at[i + 1] - m->key_at[i]));
	assert_int_equal(p->ordinal[c->keyed], a.ordinal);
	assert_int_equal(p->legal[c->keyed], a.legal);
	assert_int_equal(p->cell[c->keyed], counted ? (size_t)a.home * LEGAL_COUNT + a.legal : cells);
	if (counted)
		assert_int_equal(placed_home(p, c->keyed), a.home);
	if (counted && a.legal == LEGAL_NOT) {
		c->last = (struct placed_mark){ c->keyed, c->homed };
		c->first = c->off_home++ ? c->first : c->last;
	}
	if (counted && (a.legal == LEGAL_NOT || a.legal == LEGAL_STALE))
		assert_int_equal(p->strays[c->strays++], c->keyed);
	c->homed += a.home >= 0;
	c->keyed++;
}

static void check_placed(const struct placed *p, const struct rules *rules, const struct made *m)
{
	struct counts c = { 0 };

	for (size_t i = p->part.from; i < p->part.to; i++) {
		c.no_part += !!(m->flags[i] & RECORD_NO_PART);
		if (!(m->flags[i] & RECORD_NULL_KEY))
			check_record(p, rules, m, i, &c);
		else
			c.null_keys += !(m->flags[i] & RECORD_NO_PART);
	}
	assert_int_equal(p->count, c.keyed);
	assert_int_equal(p->homed, c.homed);
	assert_int_equal(p->stray_n, c.strays);
	assert_int_equal(p->off_home, c.off_home);
	assert_int_equal(p->null_keys, c.null_keys);
	assert_int_equal(p->no_part, c.no_part);
	if (c.off_home) {
		assert_memory_equal(&p->first, &c.first, sizeof(c.first));
		assert_memory_equal(&p->last, &c.last, sizeof(c.last));
	}
}

static void test_random_chunks(void **state)
{
	struct made *m = xalloc(sizeof(*m));
	struct random r = { 1 };
	struct placed placed;

	(void)state;
	placed_init(&placed);
	for (int i = 0; i < ROUNDS; i++) {
		struct rules rules;
		size_t from = (size_t)below(&r, RECORDS), to = from + 1 + (size_t)below(&r, RECORDS - (int64_t)from);
		struct placed_in in = { &rules.topic, &rules.part, 0 };

		make(&r, m);
		make_rules(&r, &rules);
		in.cells = rules.count[0] > 0 ? (size_t)rules.count[0] * LEGAL_COUNT : 0;
		placed_fill(&placed, &in, &(struct chunk_part){ &m->view, from, to });
		check_placed(&placed, &rules, m);
	}
	placed_release(&placed);
	free(m);
}

/* The largest chunk fills every array to its end. */
static void test_full_chunk(void **state)
{
	static int64_t offset[CHUNK_RECORDS_MAX], ms[CHUNK_RECORDS_MAX];
	static uint32_t key_at[CHUNK_RECORDS_MAX + 1];
	static uint8_t flags[CHUNK_RECORDS_MAX];
	struct chunk_view view = { CHUNK_RECORDS_MAX, .offset = offset, .timestamp_ms = ms, .key_at = key_at,
				   .key_bytes = (const uint8_t *)"", .flags = flags };
	int32_t count = 4, home = home_partition("", 0, 4);
	struct fold_topic topic = { .count = &count, .count_n = 1 };
	struct placed placed;

	(void)state;
	assert_true(placer_parse("murmur2", &topic.placer));
	placed_init(&placed);
	for (int32_t partition = 0; partition < 4; partition++) {
		struct fold_partition part = { .partition = partition };
		size_t strays = partition == home ? 0 : CHUNK_RECORDS_MAX;

		placed_fill(&placed, &(struct placed_in){ &topic, &part, 16 },
			    &(struct chunk_part){ &view, 0, CHUNK_RECORDS_MAX });
		assert_int_equal(placed.count, CHUNK_RECORDS_MAX);
		assert_int_equal(placed.stray_n, strays);
		assert_int_equal(placed.off_home, strays);
	}
	assert_int_equal(placed.last.index, CHUNK_RECORDS_MAX - 1);
	placed_release(&placed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_chunks),
		cmocka_unit_test(test_full_chunk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
