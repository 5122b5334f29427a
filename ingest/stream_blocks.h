/* stream_blocks: what the two halves of stream_rows share. */
#ifndef INGEST_STREAM_BLOCKS_H
#define INGEST_STREAM_BLOCKS_H

#include "ingest/stream_rows.h"

/* What writer_push takes. */
struct rows_job {
	writer_apply *apply;
	void (*done)(void *job);
	void *job;
	size_t bytes;
};

/* Hands a job over. 0 or -1. */
int stream_rows_push(struct stream_rows *rows, const struct rows_job *job, struct trouble *t);

#endif
