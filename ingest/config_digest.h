/* config_digest: SHA-256 in lower-case hexadecimal. */
#ifndef INGEST_CONFIG_DIGEST_H
#define INGEST_CONFIG_DIGEST_H

#include <stddef.h>

/* Of bytes[0..size). */
void digest_bytes(const void *bytes, size_t size, char hex[65]);

/* Of a list of texts, any of which may be NULL: different lists have different bytes ('+' text NUL, or '-' NUL). */
void digest_texts(const char *const *texts, size_t count, char hex[65]);

#endif
