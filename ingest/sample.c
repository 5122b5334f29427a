/*
 * sample: the sink of samples. Rows are gathered into jobs of thousands, each one block of memory for rows and one for
 * bytes, and inserted by the writer.
 */
#include "ingest/sampler.h"

#include <stdio.h>
#include <stdlib.h>

#include "ingest/sample_rows.h"
#include "sql/db.h"
#include "sql/mem.h"
#include "sql_data.h"

enum { JOB_ROWS = 4096, JOB_BYTES = 1 << 20 };

struct sample_job {
	size_t count;
	size_t used, room; /* of bytes */
	uint8_t *bytes;
	struct fact_fence rows[JOB_ROWS];
};

static void job_free(void *job)
{
	struct sample_job *j = job;

	free(j->bytes);
	free(j);
}

static int job_apply(struct writer *writer, void *job, struct trouble *t)
{
	const struct sample_job *j = job;
	const struct sample_rows rows = { j->rows, j->count };

	return sample_rows_insert(writer, &rows, t);
}

static struct sample_job *job_new(size_t bytes)
{
	struct sample_job *job = xgrow(NULL, 1, sizeof(*job));

	job->count = job->used = 0;
	job->room = bytes > JOB_BYTES ? bytes : JOB_BYTES;
	job->bytes = xgrow(NULL, job->room, 1);
	return job;
}

static size_t row_bytes(const struct fact_fence *row)
{
	return row->key.size + row->redis_key.size + row->partition_raw.size + row->offset_raw.size +
	       row->value_raw.size + (row->type ? strlen(row->type) + 1 : 0) +
	       (row->malformed ? strlen(row->malformed) + 1 : 0);
}

static const void *keep(struct sample_job *job, const void *bytes, size_t size)
{
	void *at = job->bytes + job->used;

	if (!bytes)
		return NULL;
	memcpy(at, bytes, size);
	job->used += size;
	return at;
}

static void keep_blob(struct sample_job *job, struct bytes *blob)
{
	blob->at = keep(job, blob->at, blob->size);
}

static const char *keep_text(struct sample_job *job, const char *text)
{
	return text ? keep(job, text, strlen(text) + 1) : NULL;
}

int sample_flush(struct sample_sink *sink, struct trouble *t)
{
	struct sample_job *job = sink->job;

	sink->job = NULL;
	if (!job || writer_push(sink->writer, job_apply, job_free, job, sizeof(*job) + job->used) == 0)
		return 0;
	return trouble_set(t, "the index cannot be written");
}

int sample_add(struct sample_sink *sink, const struct fact_fence *row, struct trouble *t)
{
	size_t bytes = row_bytes(row);
	struct fact_fence *kept;

	if (sink->job && (sink->job->count == JOB_ROWS || sink->job->room - sink->job->used < bytes) &&
	    sample_flush(sink, t) < 0)
		return -1;
	if (!sink->job)
		sink->job = job_new(bytes);
	kept = &sink->job->rows[sink->job->count++];
	*kept = *row;
	kept->run_id = sink->run->id;
	keep_blob(sink->job, &kept->key);
	keep_blob(sink->job, &kept->redis_key);
	keep_blob(sink->job, &kept->partition_raw);
	keep_blob(sink->job, &kept->offset_raw);
	keep_blob(sink->job, &kept->value_raw);
	kept->type = keep_text(sink->job, row->type);
	kept->malformed = keep_text(sink->job, row->malformed);
	return 0;
}

/* --- corrections -------------------------------------------------------------------------------------------------- */

struct correction {
	const char *sql;
	int64_t topic_id;
	struct buffer hashes; /* a JSON array; empty: the statement wants none */
};

static void correction_free(void *job)
{
	struct correction *c = job;

	buffer_release(&c->hashes);
	free(c);
}

static int correction_apply(struct writer *writer, void *job, struct trouble *t)
{
	const struct correction *c = job;
	sqlite3_stmt *stmt = writer_statement(writer, c->sql, t);

	if (!stmt)
		return -1;
	sqlite3_bind_int64(stmt, 1, c->topic_id);
	if (c->hashes.size)
		sqlite3_bind_text64(stmt, 2, (const char *)c->hashes.data, c->hashes.size, SQLITE_STATIC, SQLITE_UTF8);
	return db_run(stmt, t);
}

static int correct(struct sample_sink *sink, struct correction *c, struct trouble *t)
{
	if (writer_push(sink->writer, correction_apply, correction_free, c, sizeof(*c) + c->hashes.size) == 0)
		return 0;
	return trouble_set(t, "the index cannot be written");
}

static struct correction *correction_new(const char *sql, int64_t topic_id)
{
	struct correction *c = xalloc(sizeof(*c));

	c->sql = sql;
	c->topic_id = topic_id;
	return c;
}

int sample_mark_recent(struct sample_sink *sink, int64_t topic_id, struct keyset *keys, struct trouble *t)
{
	struct correction *c = correction_new(sql_queries_fence_recent, topic_id);
	struct keyset_entry *entry;

	for (size_t at = 0; (entry = keyset_next(keys, &at)) != NULL;) {
		char text[32];
		int size;

		if (!entry->seen || !(entry->strata & (uint8_t)~entry->written & STRATUM_RECENT))
			continue;
		entry->written |= STRATUM_RECENT;
		size = snprintf(text, sizeof(text), "%c%lld", c->hashes.size ? ',' : '[', (long long)entry->hash);
		buffer_add(&c->hashes, text, (size_t)size);
	}
	if (!c->hashes.size) {
		correction_free(c);
		return 0;
	}
	buffer_add(&c->hashes, "]", 1);
	return correct(sink, c, t);
}

int sample_forget_field_ttls(struct sample_sink *sink, int64_t topic_id, struct trouble *t)
{
	return correct(sink, correction_new(sql_queries_fence_field_ttl, topic_id), t);
}
