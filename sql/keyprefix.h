/*
 * The prefixes (schema ids, see sql/keyformat.h) that the keys of a topic were seen to have: a Redis key does not hold
 * them, and the record key that it belongs to is behind one of them.
 */
#ifndef SQL_KEYPREFIX_H
#define SQL_KEYPREFIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/keyformat.h"

enum { KEY_PREFIXES_MOST = 16 };

/* A plain value; zero it but for format. In the order in which they were first seen. */
struct key_prefixes {
	enum key_format format;
	size_t count, latest; /* latest: where the last key's was */
	bool more;            /* than are kept */
	uint8_t bytes[KEY_PREFIXES_MOST][KEY_PREFIX_MOST];
};

/* Notes the prefix of a key; a key that has none of the format's kind tells nothing. */
void key_prefixes_note(struct key_prefixes *prefixes, const void *key, size_t size);

#endif
