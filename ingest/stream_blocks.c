/* stream_blocks: DLQ entries, in jobs of thousands; and the histogram of a group. */
#include "ingest/stream_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "sql/db.h"
#include "sql/mem.h"
#include "sql_data.h"

enum { JOB_ROWS = 8192 };

struct kept stream_keep(struct buffer *bytes, struct bytes what)
{
	struct kept kept = { what.at ? bytes->size : SIZE_MAX, what.size };

	if (what.size)
		buffer_add(bytes, what.at, what.size);
	return kept;
}

/* --- DLQ ---------------------------------------------------------------------------------------------------------- */

struct dlq_item {
	uint8_t id[ENTRY_SIZE], source[ENTRY_SIZE];
	bool has_source;
	struct kept grp;
	int64_t content;
};

struct dlq_job {
	int64_t stream_id;
	size_t count;
	struct buffer bytes;
	struct dlq_item rows[JOB_ROWS];
};

static void dlq_done(void *job)
{
	struct dlq_job *j = job;

	buffer_release(&j->bytes);
	free(j);
}

static int dlq_apply(struct writer *writer, void *job, struct trouble *t)
{
	const struct dlq_job *j = job;
	sqlite3_stmt *stmt = writer_statement(writer, sql_queries_stream_dlq_add, t);

	if (!stmt)
		return -1;
	for (size_t i = 0; i < j->count; i++) {
		const struct dlq_item *row = &j->rows[i];
		struct bytes grp;

		db_bind_int(stmt, 1, j->stream_id);
		db_bind_blob(stmt, 2, row->id, ENTRY_SIZE);
		db_bind_blob(stmt, 3, row->has_source ? row->source : NULL, ENTRY_SIZE);
		grp = kept_bytes(&j->bytes, row->grp);
		db_bind_blob(stmt, 4, grp.at, grp.size);
		db_bind_int(stmt, 5, row->content);
		if (db_run(stmt, t) < 0)
			return -1;
	}
	return 0;
}

int stream_dlq_flush(struct stream_rows *rows, struct trouble *t)
{
	struct dlq_job *j = rows->dlq;

	rows->dlq = NULL;
	if (!j)
		return 0;
	return stream_rows_push(rows, &(struct rows_job){ dlq_apply, dlq_done, j, sizeof(*j) + j->bytes.room }, t);
}

int stream_rows_dlq(struct stream_rows *rows, int64_t stream_id, const struct dlq_row *row, struct trouble *t)
{
	struct dlq_job *j = rows->dlq;
	struct dlq_item *item;

	if (j && (j->count == JOB_ROWS || j->stream_id != stream_id) && stream_dlq_flush(rows, t) < 0)
		return -1;
	if (!rows->dlq) {
		rows->dlq = xgrow(NULL, 1, sizeof(*j));
		rows->dlq->stream_id = stream_id;
		rows->dlq->count = 0;
		rows->dlq->bytes = (struct buffer){ 0 };
	}
	j = rows->dlq;
	item = &j->rows[j->count++];
	memcpy(item->id, row->id, ENTRY_SIZE);
	item->has_source = row->source != NULL;
	if (row->source)
		memcpy(item->source, row->source, ENTRY_SIZE);
	item->grp = stream_keep(&j->bytes, row->grp);
	item->content = row->content;
	return 0;
}

/* --- the histogram ------------------------------------------------------------------------------------------------ */

struct histogram_job {
	int64_t group_id;
	struct stream_histogram histogram;
};

static void histogram_done(void *job)
{
	struct histogram_job *j = job;

	stream_histogram_release(&j->histogram);
	free(j);
}

static int histogram_apply(struct writer *writer, void *job, struct trouble *t)
{
	const struct histogram_job *j = job;
	sqlite3_stmt *stmt = writer_statement(writer, sql_queries_stream_count_add, t);

	if (!stmt)
		return -1;
	for (int i = 0; i < HISTOGRAM_IDLES * HISTOGRAM_DELIVERIES; i++) {
		int idle = i / HISTOGRAM_DELIVERIES, deliveries = i % HISTOGRAM_DELIVERIES;
		int64_t entries = j->histogram.cells[idle][deliveries];

		if (!entries)
			continue;
		db_bind_int(stmt, 1, j->group_id);
		db_bind_int(stmt, 2, idle - 1);
		db_bind_int(stmt, 3, deliveries);
		db_bind_int(stmt, 4, entries);
		if (db_run(stmt, t) < 0)
			return -1;
	}
	return 0;
}

int stream_rows_histogram(struct stream_rows *rows, int64_t group_id, struct stream_histogram *histogram,
			  struct trouble *t)
{
	struct histogram_job *j;

	if (!histogram->cells)
		return 0;
	j = xalloc(sizeof(*j));
	j->group_id = group_id;
	j->histogram = *histogram;
	histogram->cells = NULL;
	return stream_rows_push(rows,
				&(struct rows_job){ histogram_apply, histogram_done, j,
						    sizeof(*j) + HISTOGRAM_IDLES * sizeof(*j->histogram.cells) },
				t);
}
