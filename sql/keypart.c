/* keypart: what is cut from which end. */
#include "sql/keypart.h"

#include <string.h>

#include "sql/utf8.h"

static const struct {
	const char *word, *what;
} texts[KEYPART_COUNT] = {
#define X(name, word, what) { word, what },
	KEYPARTS(X)
#undef X
};

const char *keypart_word(enum keypart part)
{
	return texts[part].word;
}

const char *keypart_what(enum keypart part)
{
	return texts[part].what;
}

bool keypart_by_word(const char *word, size_t len, enum keypart *part)
{
	for (int i = 0; i < KEYPART_COUNT; i++) {
		if (strlen(texts[i].word) != len || memcmp(texts[i].word, word, len) != 0)
			continue;
		*part = (enum keypart)i;
		return true;
	}
	return false;
}

static bool without_first(struct key_bytes key, size_t n, struct key_bytes *out)
{
	if (key.len < n)
		return false;
	*out = (struct key_bytes){ key.bytes + n, key.len - n };
	return true;
}

static bool without_last(struct key_bytes key, size_t n, struct key_bytes *out)
{
	if (key.len < n)
		return false;
	*out = (struct key_bytes){ key.bytes, key.len - n };
	return true;
}

/* The header of a schema: 00 and an id, 01 and a GUID, 03 with a byte of compression (0 or 5) and a UUID. */
static bool after_magic(struct key_bytes key, uint8_t magic, size_t n, struct key_bytes *out)
{
	return key.len >= n && key.bytes[0] == magic && without_first(key, n, out);
}

static bool is_glue(struct key_bytes key)
{
	return key.len >= 18 && (key.bytes[1] == 0 || key.bytes[1] == 5);
}

/* A foreign key after its length as four big-endian bytes; the primary key follows. */
static bool foreign_key(struct key_bytes key, struct key_bytes *out)
{
	uint32_t len = 0;

	if (key.len < 4)
		return false;
	for (int i = 0; i < 4; i++)
		len = len << 8 | key.bytes[i];
	if (len > key.len - 4)
		return false;
	*out = (struct key_bytes){ key.bytes + 4, len };
	return true;
}

static bool characters(struct key_bytes key, struct key_bytes *out)
{
	size_t count = 0;
	uint32_t point;

	for (size_t at = 0, width; at < key.len; at += width, count++) {
		width = utf8_decode(key.bytes + at, key.len - at, &point);
		if (!width)
			return false;
	}
	*out = (struct key_bytes){ key.bytes, count };
	return true;
}

bool keypart_of(enum keypart part, struct key_bytes key, struct key_bytes *out)
{
	switch (part) {
	case KEYPART_WHOLE:
		return without_first(key, 0, out);
	case KEYPART_WINDOWED:
		return without_last(key, 8, out);
	case KEYPART_SESSION:
		return without_last(key, 16, out);
	case KEYPART_WINDOW_STORE:
		return without_last(key, 12, out);
	case KEYPART_OUTER_JOIN:
		return key.len >= 9 && key.bytes[8] <= 1 && without_first(key, 9, out);
	case KEYPART_FOREIGN_KEY:
		return foreign_key(key, out);
	case KEYPART_CONFLUENT:
		return after_magic(key, 0, 5, out);
	case KEYPART_CONFLUENT_GUID:
		return after_magic(key, 1, 17, out);
	case KEYPART_GLUE:
		return is_glue(key) && after_magic(key, 3, 18, out);
	case KEYPART_CHARACTERS:
		return characters(key, out);
	case KEYPART_COUNT:
		break;
	}
	return false;
}
