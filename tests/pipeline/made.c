/* Keys and values that a seed makes. */
#include "made.h"

#include <inttypes.h>

const char *const made_formats[] = { "raw", "binary", "odd", "int32", "int64", "uuid", NULL };

static void big_endian(uint64_t n, size_t len, struct buf *b)
{
	for (size_t i = 0; i < len; i++) {
		char byte = (char)(n >> 8 * (len - 1 - i));

		buf_add(b, &byte, 1);
	}
}

static int64_t alternating(int64_t index)
{
	return index % 2 ? -index : index;
}

static void binary_key(int64_t index, struct buf *b)
{
	struct prng p;
	size_t len;

	/* The index in front keeps keys apart; what follows is arbitrary. */
	prng_seed(&p, (uint64_t)index);
	len = prng_below(&p, 21);
	big_endian((uint64_t)index, index < 256 ? 1 : 4, b);
	for (size_t i = 0; i < len; i++)
		big_endian(prng_next(&p) & 0xff, 1, b);
}

static void long_key(size_t size, int64_t index, struct buf *b)
{
	buf_format(b, "long-%" PRId64 "-", index);
	while (b->len < size)
		buf_text(b, "x");
}

static void odd_key(int64_t index, struct buf *b)
{
#define ODD(text) { text, sizeof(text) - 1 }
	static const struct bytes odd[] = {
		ODD("{a}b"),	    ODD("new\nline\r\n"), ODD("nul\0inside"),	 ODD("\xff\xfe\x80\xc3"), ODD("{}"),
		ODD("state:{key}"), ODD("100%s%n"),	  ODD("\"quoted\\\""),	 ODD(" spaces "),
		ODD("*?[a-z]\\*"),
		ODD("\t\x01\x7f"),  ODD("'; DROP TABLE"),	  ODD("a,b;c|d"),
		ODD("\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x98"),
	};
#undef ODD
	int64_t kinds = (int64_t)(sizeof(odd) / sizeof(odd[0])) + 2;

	if (index == 0)
		return;
	if (index == 1) {
		long_key(65536, index, b);
		return;
	}
	if (index % kinds == 1) {
		long_key(1000, index, b);
		return;
	}
	if (index % kinds >= 2)
		buf_add(b, odd[index % kinds - 2].data, odd[index % kinds - 2].len);
	if (index >= kinds)
		buf_format(b, "#%" PRId64, index);
}

static void uuid_key(int64_t index, struct buf *b)
{
	struct prng p;

	prng_seed(&p, (uint64_t)index);
	big_endian(prng_next(&p), 8, b);
	big_endian(prng_next(&p), 8, b);
}

void made_key(enum made_format format, int64_t index, struct buf *b)
{
	buf_clear(b);
	switch (format) {
	case MADE_RAW:
		buf_format(b, "user-%" PRId64, index);
		return;
	case MADE_BINARY:
		binary_key(index, b);
		return;
	case MADE_ODD:
		odd_key(index, b);
		return;
	case MADE_INT32:
		big_endian((uint64_t)alternating(index), 4, b);
		return;
	case MADE_INT64:
		big_endian((uint64_t)alternating(index), 8, b);
		return;
	case MADE_UUID:
		uuid_key(index, b);
		return;
	}
}

void made_value(struct prng *p, int64_t i, size_t size, struct buf *b)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";

	buf_clear(b);
	buf_format(b, "v-%" PRId64 "-", i);
	while (b->len < size) {
		uint64_t bits = prng_next(p);

		for (int n = 0; n < 12 && b->len < size; n++, bits >>= 5)
			buf_add(b, &letters[bits & 31], 1);
	}
	b->len = size;
	b->data[size] = '\0';
}

void made_number(struct prng *p, struct buf *b)
{
	buf_clear(b);
	buf_format(b, "%" PRId64, (int64_t)prng_below(p, 2001) - 1000);
}
