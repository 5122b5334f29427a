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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(as_objects, open_reading, close_reading),
		cmocka_unit_test(in_pieces),
		cmocka_unit_test(without_fields),
		cmocka_unit_test(no_entries),
		cmocka_unit_test(heads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
