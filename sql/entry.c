/* entry: ids of stream entries. */
#include "sql/entry.h"

#include <inttypes.h>
#include <stdio.h>

/* Digits from *at on, up to end; *at moves past them. */
static bool read_part(const char **at, const char *end, uint64_t *part)
{
	const char *begin = *at;

	*part = 0;
	for (; *at < end && **at >= '0' && **at <= '9'; ++*at)
		if (__builtin_mul_overflow(*part, 10, part) ||
		    __builtin_add_overflow(*part, (uint64_t)(**at - '0'), part))
			return false;
	return *at > begin;
}

static void put_part(uint64_t part, uint8_t *out)
{
	for (int i = 0; i < 8; i++)
		out[i] = (uint8_t)(part >> (56 - 8 * i));
}

static uint64_t part_of(const uint8_t *in)
{
	uint64_t part = 0;

	for (int i = 0; i < 8; i++)
		part = part << 8 | in[i];
	return part;
}

bool entry_read(const char *text, size_t size, uint8_t id[ENTRY_SIZE])
{
	const char *at = text, *end = text + size;
	uint64_t ms, seq;

	if (!size || !read_part(&at, end, &ms) || at == end || *at++ != '-' || !read_part(&at, end, &seq) || at != end)
		return false;
	put_part(ms, id);
	put_part(seq, id + 8);
	return true;
}

size_t entry_write(const uint8_t id[ENTRY_SIZE], char text[ENTRY_ROOM])
{
	return (size_t)snprintf(text, ENTRY_ROOM, "%" PRIu64 "-%" PRIu64, part_of(id), part_of(id + 8));
}

int64_t entry_ms(const uint8_t id[ENTRY_SIZE])
{
	uint64_t ms = part_of(id);

	return ms > INT64_MAX ? INT64_MAX : (int64_t)ms;
}
