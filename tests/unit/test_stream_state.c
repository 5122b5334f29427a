/* What XINFO says, of servers of every age, and of none. */
#include "ingest/stream_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ingest/redis_reply.h"
#include "ingest/stream_histogram.h"
#include "reading.h"

/*
 * A reply of protocol 2 from words: *N begins a list of N, :N is a number, _ nil, and anything else a text. Words are
 * parted by spaces.
 */
static redisReply *reply_of(struct reading *r, const char *words)
{
	void *reply = NULL;
	char *copy = xstrdup(words), *rest = NULL;

	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		char line[128];
		int size;

		if (*word == '_')
			size = snprintf(line, sizeof(line), "$-1\r\n");
		else if (*word == '*' || *word == ':')
			size = snprintf(line, sizeof(line), "%s\r\n", word);
		else
			size = snprintf(line, sizeof(line), "$%zu\r\n%s\r\n", strlen(word), word);
		assert_int_equal(redisReaderFeed(r->reader, line, (size_t)size), REDIS_OK);
	}
	free(copy);
	assert_int_equal(redisReaderGetReply(r->reader, &reply), REDIS_OK);
	assert_non_null(reply);
	return reply;
}

static void assert_id(const struct stream_id *id, const char *text)
{
	char shown[ENTRY_ROOM];

	assert_int_equal(id->known, text != NULL);
	if (text) {
		entry_write(id->id, shown);
		assert_string_equal(shown, text);
	}
}

static void stream_of_each_age(void **state)
{
	struct stream_state s;

	assert_int_equal(stream_state_read(reply_of(*state, "*14 length :2 radix-tree-keys :1 radix-tree-nodes :2 "
							    "last-generated-id 5-1 groups :3 "
							    "first-entry *2 1-0 *2 f v last-entry *2 5-1 *2 f v"),
					   &s, NULL),
			 0);
	assert_int_equal(s.length, 2);
	assert_int_equal(s.groups, 3);
	assert_int_equal(s.entries_added, UNKNOWN);
	assert_id(&s.last_generated, "5-1");
	assert_id(&s.first_entry, "1-0");
	assert_id(&s.last_entry, "5-1");
	assert_id(&s.max_deleted, NULL);
	assert_int_equal(stream_state_read(reply_of(*state, "*18 last-entry _ first-entry _ groups :0 "
							    "recorded-first-entry-id 0-0 entries-added :7 "
							    "max-deleted-entry-id 0-0 last-generated-id 9-9 length :0 "
							    "idmp-duration :60"),
					   &s, NULL),
			 0);
	assert_int_equal(s.length, 0);
	assert_int_equal(s.entries_added, 7);
	assert_id(&s.first_entry, NULL);
	assert_id(&s.last_entry, NULL);
	assert_id(&s.max_deleted, "0-0");
}

static void groups_of_each_age(void **state)
{
	struct stream_groups g;

	assert_int_equal(
		stream_groups_read(reply_of(*state, "*2 *8 name a consumers :1 pending :2 last-delivered-id 3-0 "
						    "*12 lag :-2 entries-read :4 name b consumers :0 pending :0 "
						    "last-delivered-id 0-0"),
				   &g, NULL),
		0);
	assert_int_equal(g.count, 2);
	assert_int_equal(g.items[0].lag, UNKNOWN);
	assert_int_equal(g.items[0].entries_read, UNKNOWN);
	assert_int_equal(g.items[0].pending, 2);
	assert_id(&g.items[0].last_delivered, "3-0");
	assert_int_equal(g.items[1].lag, -2);
	assert_int_equal(g.items[1].entries_read, 4);
	assert_ptr_equal(stream_groups_find(&g, (struct bytes){ "b", 1 }), &g.items[1]);
	assert_null(stream_groups_find(&g, (struct bytes){ "bb", 2 }));
	stream_groups_release(&g);
	assert_int_equal(
		stream_groups_read(reply_of(*state, "*1 *12 name a consumers :1 pending :2 last-delivered-id 3-0 "
						    "entries-read _ lag _"),
				   &g, NULL),
		0);
	assert_int_equal(g.items[0].lag, UNKNOWN);
	assert_int_equal(g.items[0].entries_read, UNKNOWN);
	stream_groups_release(&g);
}

static void consumers_of_each_age(void **state)
{
	struct stream_consumers c;

	assert_int_equal(stream_consumers_read(reply_of(*state, "*2 *6 name a pending :1 idle :20 "
								"*8 name b pending :0 idle :5 inactive :-1"),
					       &c, NULL),
			 0);
	assert_int_equal(c.count, 2);
	assert_int_equal(c.items[0].inactive_ms, UNKNOWN);
	assert_int_equal(c.items[0].idle_ms, 20);
	assert_int_equal(c.items[1].inactive_ms, -1);
	stream_consumers_release(&c);
}

static void of_no_age(void **state)
{
	static const char *const odd[] = {
		":1",
		"_",
		"text",
		"*1 length",
		"*2 length :1",
		"*4 length x last-generated-id 1-1",
		"*4 length :1 last-generated-id 1",
		"*2 :1 :2",
		"*1 *0",
		"*1 *2 name _",
		"*1 *1 name",
		"*1 *6 name a pending x last-delivered-id 1-1",
		"*1 *6 name a pending :1 last-delivered-id odd",
		"*2 *6 name a pending :1 last-delivered-id 1-1 :3",
	};
	struct stream_state s;
	struct stream_groups g;
	struct stream_consumers c;
	struct trouble t;

	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		redisReply *reply = reply_of(*state, odd[i]);

		assert_int_equal(stream_state_read(reply, &s, &t), -1);
		assert_int_equal(stream_groups_read(reply, &g, &t), -1);
		assert_string_equal(t.text, "XINFO GROUPS: a reply of another shape than Redis gives");
		if (stream_consumers_read(reply, &c, &t) == 0)
			stream_consumers_release(&c);
	}
}

static void entries(void **state)
{
	const redisReply *fields;
	uint8_t id[ENTRY_SIZE];

	assert_true(stream_entry_read(reply_of(*state, "*2 1-2 *2 f v"), id, &fields));
	assert_int_equal(fields->elements, 2);
	assert_int_equal(id[7], 1);
	assert_int_equal(id[15], 2);
	assert_false(stream_entry_read(reply_of(*state, "*2 1-2 _"), id, &fields));
	assert_false(stream_entry_read(reply_of(*state, "*2 12 *0"), id, &fields));
	assert_false(stream_entry_read(reply_of(*state, "*1 1-2"), id, &fields));
	assert_false(stream_entry_read(reply_of(*state, "1-2"), id, &fields));
}

static void histogram(void **state)
{
	struct stream_histogram h = { 0 };

	(void)state;
	stream_histogram_add(&h, -1, 1);
	stream_histogram_add(&h, 0, 1);
	stream_histogram_add(&h, 1, 1);
	stream_histogram_add(&h, 2, 1);
	stream_histogram_add(&h, 3, 1);
	stream_histogram_add(&h, 4, INT64_MAX);
	stream_histogram_add(&h, INT64_MAX, -5);
	assert_int_equal(h.cells[0][1], 2);
	assert_int_equal(h.cells[1][1], 1);
	assert_int_equal(h.cells[2][1], 2);
	assert_int_equal(h.cells[3][HISTOGRAM_DELIVERIES - 1], 1);
	assert_int_equal(h.cells[63][0], 1);
	stream_histogram_release(&h);
	assert_null(h.cells);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(stream_of_each_age, open_reading, close_reading),
		cmocka_unit_test_setup_teardown(groups_of_each_age, open_reading, close_reading),
		cmocka_unit_test_setup_teardown(consumers_of_each_age, open_reading, close_reading),
		cmocka_unit_test_setup_teardown(of_no_age, open_reading, close_reading),
		cmocka_unit_test_setup_teardown(entries, open_reading, close_reading),
		cmocka_unit_test(histogram),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
