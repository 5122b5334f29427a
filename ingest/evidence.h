/*
 * evidence: what shows that a history was rewritten, as JSON text from malloc.
 *
 *     {"indexed": RECORD or null, "read": RECORD}                   a different record
 *     {"indexed_end": 120, "end": 80, "indexed": RECORD or null}    the end fell; the first indexed record that is lost
 *     RECORD: {"offset", "timestamp_ms", "key" (text; null: no UTF-8), "key_hex", "value_size", "value_hash"}
 *
 * value_size is null for a tombstone, key_hex for a null key; value_hash is XXH3-64 in hexadecimal.
 */
#ifndef INGEST_EVIDENCE_H
#define INGEST_EVIDENCE_H

#include <stdint.h>

#include "sql/chunk.h"

/* indexed NULL: the index saw a hole there. */
char *evidence_differs(const struct record *indexed, const struct record *read);

/* lost NULL: no record was indexed at or above end. */
char *evidence_fell(int64_t indexed_end, int64_t end, const struct record *lost);

#endif
