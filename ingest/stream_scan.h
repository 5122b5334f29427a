/*
 * stream_scan: entries of a stream out of the bytes of a reply, without objects. Protocol 2:
 *     XRANGE      *N, then of each entry *2, its id, and *M fields and values, of which only the hash is wanted
 *     XPENDING    *N, then of each entry *4, its id, its consumer, :milliseconds and :deliveries
 * Ids, consumers, fields and values are $SIZE texts.
 */
#ifndef INGEST_STREAM_SCAN_H
#define INGEST_STREAM_SCAN_H

#include <stdint.h>
#include <sys/types.h>

#include "ingest/template.h"
#include "sql/entry.h"

struct scanned_entry {
	uint8_t id[ENTRY_SIZE];
	int64_t content; /* as stream_content gives it */
	size_t bytes;    /* that were hashed */
};

/* The number of a line that begins with mark. Bytes used; 0 the line is not whole yet; -1 it is another line. */
ssize_t stream_scan_head(const char *at, const char *end, char mark, size_t *number);

struct pending_entry;

/* The pending entry at at; its texts point into what was given. Bytes used; 0 it is not whole yet; -1 it is none. */
ssize_t stream_scan_pending(const char *at, const char *end, struct pending_entry *entry);

/* The entry at at; words is scratch. Bytes used; 0 it is not whole yet; -1 it is none. */
ssize_t stream_scan_entry(const char *at, const char *end, struct buffer *words, struct scanned_entry *entry);

#endif
