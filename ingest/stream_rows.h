/*
 * stream_rows: the sink of the looks at streams: rows on their way to the index through the writer. Ids are given out
 * here, so that rows can refer to rows which the writer has not written yet: one process alone writes an index.
 */
#ifndef INGEST_STREAM_ROWS_H
#define INGEST_STREAM_ROWS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "ingest/stream_histogram.h"
#include "sql/entry.h"
#include "sql/facts.h"
#include "sql/run.h"
#include "sql/trouble.h"
#include "sql/writer.h"

struct pending_job;
struct dlq_job;
struct rows_batch;

struct stream_rows {
	const struct run *run;
	struct writer *writer;
	int64_t next_stream, next_group, next_consumer;
	struct pending_job *pending;
	struct dlq_job *dlq;
	struct rows_batch *batch;
	bool failed; /* the writer takes nothing any more */
};

/* Reads which ids are free; before the writer is started. 0 or -1. */
int stream_rows_init(struct stream_rows *rows, const struct run *run, sqlite3 *db, struct trouble *t);

/* Copy the row, but for run_id. The id of the new row, or -1 where the writer has failed. */
int64_t stream_rows_stream(struct stream_rows *rows, const struct fact_stream *row, struct trouble *t);
int64_t stream_rows_group(struct stream_rows *rows, const struct fact_stream_group *row, struct trouble *t);
int64_t stream_rows_consumer(struct stream_rows *rows, const struct fact_stream_consumer *row, struct trouble *t);

/* What became known of a group: its trouble and all columns from consumers_after on. 0 or -1. */
int stream_rows_group_end(struct stream_rows *rows, int64_t group_id, const struct fact_stream_group *row,
			  struct trouble *t);

/* How many entries of a dead-letter stream were kept, and why not more. 0 or -1. */
int stream_rows_stream_end(struct stream_rows *rows, int64_t stream_id, int64_t listed, const char *trouble,
			   struct trouble *t);

/* A row of table pending. */
struct pending_row {
	uint8_t id[ENTRY_SIZE];
	int64_t consumer_id;   /* UNKNOWN: consumer says who */
	struct bytes consumer; /* copied */
	int64_t idle_ms, deliveries, present, content;
};

int stream_rows_pending(struct stream_rows *rows, int64_t group_id, const struct pending_row *row, struct trouble *t);

/* A row of table stream_dlq_entry; source is an id or NULL, grp is copied. */
struct dlq_row {
	uint8_t id[ENTRY_SIZE];
	const uint8_t *source;
	struct bytes grp;
	int64_t content;
};

int stream_rows_dlq(struct stream_rows *rows, int64_t stream_id, const struct dlq_row *row, struct trouble *t);

/* Takes the histogram over: the caller's is empty afterwards. */
int stream_rows_histogram(struct stream_rows *rows, int64_t group_id, struct stream_histogram *histogram,
			  struct trouble *t);

/* Hands over all that waits; before the writer is stopped. 0 or -1. */
int stream_rows_flush(struct stream_rows *rows, struct trouble *t);

/*
 * Deletes the pending and DLQ entries of runs that no later run will be compared with: of the watch's earlier runs the
 * newest that looked at the same group (or stream) to its end stays. 0 or -1.
 */
int stream_rows_forget(struct stream_rows *rows, const char *watch, const char *redis, struct trouble *t);

#endif
