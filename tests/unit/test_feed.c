/*
 * The feed gives the chunks that a scan gives, in their order, whatever its caller does: takes its time, ends it early,
 * begins it anew, meets a damaged chunk.
 */
#include "analyzer/feed.h"

#include <pthread.h>

#include "index_fixture.h"

enum { RECORDS = 5000, PARTS = 3 };

/* What the taker saw, and in which thread. */
struct taken {
	size_t chunks, records;
	int64_t last_offset;
	pthread_t thread;
};

static void take(void *context, const struct placed *placed)
{
	struct taken *taken = context;
	const struct chunk_part *part = &placed->part;

	assert_true(taken->chunks == 0 || part->view->offset[part->from] > taken->last_offset);
	taken->chunks++;
	taken->records += part->to - part->from;
	taken->last_offset = part->view->offset[part->to - 1];
	taken->thread = pthread_self();
}

struct setting {
	struct fixture fx;
	struct fold_topic topic;
	struct fold_partition part[PARTS];
	int32_t count;
	struct feed *feed;
	struct trouble t;
};

/* Partition 0 has all records, 1 none, 2 a few. */
static void begin(struct setting *s, size_t key_size)
{
	struct world *w = world_new();
	char *key = xalloc(key_size + 1);

	memset(key, 'k', key_size);
	w->topic[0].partitions = w->topic[0].fact.partitions = PARTS;
	for (int i = 0; i < RECORDS; i++)
		world_put_in(&w->topic[0], 0, key_name(i % 4096), i);
	for (int i = 0; i < 20; i++)
		world_put_in(&w->topic[0], 2, key_size ? key : key_name(i), i);
	*s = (struct setting){ .count = PARTS };
	fixture_open(&s->fx);
	fixture_add(&s->fx, w);
	s->topic = (struct fold_topic){ .incarnation_id = FIXTURE_SQL(&s->fx, "SELECT incarnation_id FROM incarnation WHERE ?1", 1),
					.count = &s->count, .count_n = 1 };
	assert_true(placer_parse("murmur2", &s->topic.placer));
	for (int32_t p = 0; p < PARTS; p++)
		s->part[p] = (struct fold_partition){ .partition = p, .indexed_end = w->topic[0].part[p].next };
	s->feed = feed_new(s->fx.db, CHUNK_TIMESTAMP, &s->topic, PARTS * LEGAL_COUNT);
	world_free(w);
	free(key);
}

static void end(struct setting *s)
{
	feed_free(s->feed);
	fixture_close(&s->fx);
}

/* Reads at most so many chunks, and does not end. Returns how many records they had. */
static size_t read_chunks(struct setting *s, int32_t partition, size_t most, struct taken *taken)
{
	const struct placed *placed;
	size_t records = 0;

	*taken = (struct taken){ 0 };
	feed_begin(s->feed, &s->part[partition], (struct feed_taker){ take, taken });
	for (size_t chunk = 0; chunk < most && feed_next(s->feed, &placed, &s->t) > 0; chunk++) {
		assert_int_equal(placed->part.view->offset[placed->part.from], records);
		assert_int_equal(placed->part.view->timestamp_ms[placed->part.from], records);
		assert_int_equal(placed->count, placed->part.to - placed->part.from);
		records += placed->count;
	}
	return records;
}

static void test_whole(void **state)
{
	struct setting s;
	struct taken taken;
	const struct placed *placed;

	(void)state;
	begin(&s, 0);
	for (int round = 0; round < 20; round++) {
		assert_int_equal(read_chunks(&s, 0, SIZE_MAX, &taken), RECORDS);
		assert_int_equal(feed_next(s.feed, &placed, NULL), 0); /* again, as often as one likes */
		assert_int_equal(feed_next(s.feed, &placed, NULL), 0);
		feed_end(s.feed);
		assert_int_equal(taken.records, RECORDS);
		assert_int_equal(taken.chunks, (RECORDS + 6) / 7);
		assert_false(pthread_equal(taken.thread, pthread_self()));
		assert_int_equal(read_chunks(&s, 1, SIZE_MAX, &taken), 0);
		assert_int_equal(read_chunks(&s, 2, SIZE_MAX, &taken), 20);
		feed_end(s.feed);
		feed_end(s.feed);
		assert_int_equal(taken.records, 20);
		assert_true(pthread_equal(taken.thread, pthread_self())); /* so few wake nobody */
	}
	end(&s);
}

/* After feed_end the connection is the caller's, however far the thread had read ahead. */
static void test_ended_early(void **state)
{
	struct taken taken[60]; /* the last one is the thread's until it is ended */
	struct setting s;

	(void)state;
	begin(&s, 0);
	for (size_t most = 0; most < 60; most++) {
		assert_int_equal(read_chunks(&s, 0, most, &taken[most]), most * 7);
		if (most % 3 == 0)
			continue;
		feed_end(s.feed);
		assert_true(taken[most].chunks >= most);
		assert_int_equal(FIXTURE_SQL(&s.fx, "SELECT count(*) FROM chunk WHERE partition = ?1", 2), 3);
	}
	end(&s); /* while it reads */
}

static void test_damaged(void **state)
{
	struct setting s;
	struct taken taken;
	const struct placed *placed;

	(void)state;
	begin(&s, 0);
	FIXTURE_SQL(&s.fx, "UPDATE chunk SET data = substr(data, 1, length(data) - 1) WHERE partition = 0 AND first_offset = ?1",
		    700);
	assert_int_equal(read_chunks(&s, 0, SIZE_MAX, &taken), 700);
	assert_int_equal(feed_next(s.feed, &placed, &s.t), -1);
	assert_non_null(strstr(s.t.text, "partition 0, first offset 700"));
	feed_end(s.feed);
	assert_int_equal(taken.records, 700);
	assert_int_equal(read_chunks(&s, 2, SIZE_MAX, &taken), 20);
	end(&s);
}

/* Chunks with more bytes of keys than may stand side by side come one by one. */
static void test_large_keys(void **state)
{
	struct setting s;
	struct taken taken;

	(void)state;
	begin(&s, 1 << 20);
	for (int round = 0; round < 3; round++) {
		assert_int_equal(read_chunks(&s, 2, SIZE_MAX, &taken), 20);
		assert_int_equal(read_chunks(&s, 2, 1, &taken), 7);
		feed_end(s.feed);
		assert_int_equal(taken.chunks, 1);
		assert_int_equal(read_chunks(&s, 0, 3, &taken), 21);
		feed_end(s.feed);
	}
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_ended_early),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_large_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
