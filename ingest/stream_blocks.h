/* stream_blocks: what the parts of stream_rows share. */
#ifndef INGEST_STREAM_BLOCKS_H
#define INGEST_STREAM_BLOCKS_H

#include "ingest/stream_rows.h"
#include "ingest/template.h"

/* What writer_push takes. */
struct rows_job {
	writer_apply *apply;
	void (*done)(void *job);
	void *job;
	size_t bytes;
};

/* Bytes that rows refer to by their place in a buffer. at SIZE_MAX: NULL. */
struct kept {
	size_t at, size;
};

struct kept stream_keep(struct buffer *bytes, struct bytes what);

static inline struct bytes kept_bytes(const struct buffer *bytes, struct kept kept)
{
	const uint8_t *at = bytes->data ? bytes->data + kept.at : (const uint8_t *)"";

	return (struct bytes){ kept.at == SIZE_MAX ? NULL : at, kept.size };
}

/* Lets the connection know the virtual table pending_rows. 0 or -1. */
int stream_pending_rows_init(sqlite3 *db, struct trouble *t);

/* Hand over the pending and DLQ entries that wait. 0 or -1. */
int stream_pending_flush(struct stream_rows *rows, struct trouble *t);
int stream_dlq_flush(struct stream_rows *rows, struct trouble *t);

/* Hands a job over. 0 or -1. */
int stream_rows_push(struct stream_rows *rows, const struct rows_job *job, struct trouble *t);

#endif
