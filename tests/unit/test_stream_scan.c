/* Entries out of the bytes of a reply: whole, in pieces, and what is none. */
#include "ingest/stream_scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ingest/stream_watch.h"
#include "reading.h"

#define ENTRY_1 "*2\r\n$3\r\n7-1\r\n*4\r\n$1\r\na\r\n$0\r\n\r\n$2\r\nbb\r\n$4\r\nc\r\nd\r\n"

static ssize_t scan(const char *text, size_t size, struct scanned_entry *entry)
{
	struct buffer words = { 0 };
	char *copy = xmemdup(text, size ? size : 1); /* so that a sanitizer sees each byte too many */
	ssize_t used = stream_scan_entry(copy, copy + size, &words, entry);

	free(copy);
	buffer_release(&words);
	return used;
}

static void as_objects(void **state)
{
	struct reading *r = *state;
	struct scanned_entry entry;
	struct buffer words = { 0 };
	void *reply = NULL;
	char id[ENTRY_ROOM];

	assert_int_equal(scan(ENTRY_1 "*2\r\n", sizeof(ENTRY_1) + 3, &entry), sizeof(ENTRY_1) - 1);
	entry_write(entry.id, id);
	assert_string_equal(id, "7-1");
	redisReaderFeed(r->reader, ENTRY_1, sizeof(ENTRY_1) - 1);
	assert_int_equal(redisReaderGetReply(r->reader, &reply), REDIS_OK);
	assert_int_equal(entry.content, stream_content(((redisReply *)reply)->element[1], &words));
	assert_int_equal(entry.bytes, words.size);
	buffer_release(&words);
}

static void in_pieces(void **state)
{
	struct scanned_entry entry;

	(void)state;
	for (size_t size = 0; size < sizeof(ENTRY_1) - 1; size++)
		assert_int_equal(scan(ENTRY_1, size, &entry), 0);
}

static void without_fields(void **state)
{
	static const char text[] = "*2\r\n$3\r\n7-1\r\n*0\r\n";
	struct scanned_entry entry;

	(void)state;
	assert_int_equal(scan(text, sizeof(text) - 1, &entry), sizeof(text) - 1);
	assert_int_equal(entry.bytes, 0);
}

static void no_entries(void **state)
{
	static const char *const texts[] = {
		":1\r\n",
		"-ERR no\r\n",
		"*3\r\n",
		"*-1\r\n",
		"*2\r\n$-1\r\n",
		"*2\r\n$1\r\nx\r\n",
		"*2\r\n$3\r\n7-1\r\n$1\r\na\r\n",
		"*2\r\n$3\r\n7-1\r\n*2\r\n:1\r\n",
		"*2\r\n$3\r\n7-1\r\n*2\r\n$1\r\na\r\n$-1\r\n",
		"*2\n\n",
		"*2\r\r",
		"*\r\n",
		"*2\r\n$99999999999999999999999\r\n",
	};
	struct scanned_entry entry;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(scan(texts[i], strlen(texts[i]), &entry), -1);
}

static void heads(void **state)
{
	static const char text[] = "*120\r\n";
	size_t number = 0;

	(void)state;
	assert_int_equal(stream_scan_head(text, text + 6, '*', &number), 6);
	assert_int_equal(number, 120);
	assert_int_equal(stream_scan_head(text, text + 5, '*', &number), 0);
	assert_int_equal(stream_scan_head(text, text + 6, '$', &number), -1);
}

static ssize_t scan_pending(const char *text, size_t size, struct pending_entry *entry, char *consumer)
{
	char *copy = xmemdup(text, size ? size : 1);
	ssize_t used = stream_scan_pending(copy, copy + size, entry);

	if (used > 0)
		snprintf(consumer, 16, "%.*s", (int)entry->consumer.size, (const char *)entry->consumer.at);
	free(copy);
	return used;
}

/* As objects have it, whole and in pieces. */
static void pending(void **state)
{
	static const char *const texts[] = { "*4\r\n$3\r\n7-1\r\n$5\r\nalice\r\n:120\r\n:3\r\n",
					     "*4\r\n$3\r\n0-1\r\n$0\r\n\r\n:0\r\n:1\r\n",
					     "*4\r\n$3\r\n7-1\r\n$2\r\n\r\n\r\n:-1\r\n:9223372036854775807\r\n",
					     "*4\r\n$3\r\n7-1\r\n$1\r\na\r\n:-9223372036854775808\r\n:0\r\n" };
	struct reading *r = *state;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct pending_entry got = { .idle_ms = 77 }, want;
		size_t size = strlen(texts[i]);
		char consumer[16];
		void *reply = NULL;

		for (size_t part = 0; part < size; part++)
			assert_int_equal(scan_pending(texts[i], part, &got, consumer), 0);
		assert_int_equal(scan_pending(texts[i], size, &got, consumer), size);
		redisReaderFeed(r->reader, texts[i], size);
		assert_int_equal(redisReaderGetReply(r->reader, &reply), REDIS_OK);
		assert_true(pending_entry_read(reply, &want));
		assert_memory_equal(got.id, want.id, ENTRY_SIZE);
		assert_int_equal(got.idle_ms, want.idle_ms);
		assert_int_equal(got.deliveries, want.deliveries);
		assert_int_equal(strlen(consumer), want.consumer.size);
		assert_memory_equal(consumer, want.consumer.at, want.consumer.size);
	}
}

static void no_pending(void **state)
{
	static const char *const texts[] = {
		"*3\r\n",
		"-NOGROUP x\r\n",
		"*4\r\n$1\r\nx\r\n$1\r\na\r\n:1\r\n:1\r\n",
		"*4\r\n$3\r\n7-1\r\n$-1\r\n",
		"*4\r\n$3\r\n7-1\r\n:1\r\n",
		"*4\r\n$3\r\n7-1\r\n$1\r\na\r\n$1\r\n1\r\n",
		"*4\r\n$3\r\n7-1\r\n$1\r\na\r\n:1\r\n:-\r\n",
		"*4\r\n$3\r\n7-1\r\n$1\r\na\r\n:1\r\n:--1\r\n",
		"*4\r\n$3\r\n7-1\r\n$1\r\na\r\n:1\r\n:9223372036854775808\r\n",
	};
	struct pending_entry entry;
	char consumer[16];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(scan_pending(texts[i], strlen(texts[i]), &entry, consumer), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(as_objects, open_reading, close_reading),
		cmocka_unit_test_setup_teardown(pending, open_reading, close_reading),
		cmocka_unit_test(no_pending),
		cmocka_unit_test(in_pieces),
		cmocka_unit_test(without_fields),
		cmocka_unit_test(no_entries),
		cmocka_unit_test(heads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
