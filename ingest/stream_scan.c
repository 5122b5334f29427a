/* stream_scan: an entry is measured first, so that one that comes in many pieces is hashed once. */
#include "ingest/stream_scan.h"

#include <stdbool.h>

#include "ingest/redis_reply.h"
#include "ingest/stream_watch.h"
#include "sql/keyhash.h"

ssize_t stream_scan_head(const char *at, const char *end, char mark, size_t *number)
{
	const char *p = at + 1;
	size_t n = 0;

	if (at == end)
		return 0;
	if (*at != mark)
		return -1;
	for (; p < end && *p >= '0' && *p <= '9' && n < SIZE_MAX / 100; p++)
		n = n * 10 + (size_t)(*p - '0');
	if ((p < end && (*p != '\r' || p == at + 1)) || (end - p > 1 && p[1] != '\n'))
		return -1;
	*number = n;
	return end - p > 1 ? p + 2 - at : 0;
}

/* As stream_scan_head; text is what the bytes used end with. */
static ssize_t scan_text(const char *at, const char *end, struct bytes *text)
{
	size_t size;
	ssize_t head = stream_scan_head(at, end, '$', &size);

	if (head <= 0)
		return head;
	if ((size_t)(end - at - head) < size + 2)
		return 0;
	*text = (struct bytes){ at + head, size };
	return head + (ssize_t)size + 2;
}

static ssize_t measure_texts(const char *at, const char *end, size_t count)
{
	const char *p = at;

	for (size_t i = 0; i < count; i++) {
		struct bytes text = { 0 };
		ssize_t used = scan_text(p, end, &text);

		if (used <= 0)
			return used;
		p += used;
	}
	return p - at;
}

static void add_word(struct buffer *words, struct bytes text)
{
	uint64_t size = text.size;

	buffer_add(words, &size, sizeof(size));
	buffer_add(words, text.at ? text.at : "", text.size);
}

int64_t stream_content(const redisReply *fields, struct buffer *words)
{
	words->size = 0;
	for (size_t i = 0; i < fields->elements; i++)
		add_word(words, reply_bytes(fields->element[i]));
	return key_hash(words->data, words->size);
}

/* Of texts that were measured. */
static void hash_texts(const char *at, const char *end, size_t count, struct buffer *words, struct scanned_entry *entry)
{
	words->size = 0;
	for (size_t i = 0; i < count; i++) {
		struct bytes text = { 0 };

		at += scan_text(at, end, &text);
		add_word(words, text);
	}
	entry->content = key_hash(words->data, words->size);
	entry->bytes = words->size;
}

ssize_t stream_scan_entry(const char *at, const char *end, struct buffer *words, struct scanned_entry *entry)
{
	const char *p = at;
	struct bytes id = { 0 };
	size_t count;
	ssize_t used = stream_scan_head(p, end, '*', &count);

	if (used <= 0 || count != 2)
		return used ? -1 : 0;
	p += used;
	used = scan_text(p, end, &id);
	if (used <= 0 || !entry_read(id.at, id.size, entry->id))
		return used ? -1 : 0;
	p += used;
	used = stream_scan_head(p, end, '*', &count);
	if (used <= 0)
		return used;
	p += used;
	used = measure_texts(p, end, count);
	if (used < 0 || (used == 0 && count))
		return used;
	hash_texts(p, end, count, words, entry);
	return p + used - at;
}

/* A line of an integer of 64 bits. Bytes used; 0 it is not whole yet; -1 it is another line. */
static ssize_t scan_integer(const char *at, const char *end, int64_t *number)
{
	const char *p = at + 1, *digits;
	bool negative = end - at > 1 && *p == '-', over = false;
	int64_t n = 0;

	if (at == end)
		return 0;
	if (*at != ':')
		return -1;
	digits = p += negative;
	for (; p < end && *p >= '0' && *p <= '9' && !over; p++)
		over = __builtin_mul_overflow(n, 10, &n) || __builtin_sub_overflow(n, *p - '0', &n);
	if (over || (p < end && (*p != '\r' || p == digits)) || (end - p > 1 && p[1] != '\n'))
		return -1;
	if (end - p < 2)
		return 0;
	*number = n;
	if (!negative && __builtin_sub_overflow(0, n, number)) /* it was counted downwards, where there is room for one more */
		return -1;
	return p + 2 - at;
}

ssize_t stream_scan_pending(const char *at, const char *end, struct pending_entry *entry)
{
	int64_t *const numbers[] = { &entry->idle_ms, &entry->deliveries };
	struct bytes *const texts[] = { &entry->text, &entry->consumer };
	const char *p = at;
	size_t count;
	ssize_t used = stream_scan_head(p, end, '*', &count);

	if (used <= 0 || count != 4)
		return used ? -1 : 0;
	p += used;
	for (size_t i = 0; i < 2; i++, p += used) {
		used = scan_text(p, end, texts[i]);
		if (used <= 0)
			return used;
	}
	for (size_t i = 0; i < 2; i++, p += used) {
		used = scan_integer(p, end, numbers[i]);
		if (used <= 0)
			return used;
	}
	return entry_read(entry->text.at, entry->text.size, entry->id) ? p - at : -1;
}
