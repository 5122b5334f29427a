/* rewrite: copies what is common into a new incarnation. */
#include "ingest/rewrite.h"

#include "ingest/statement.h"
#include "sql/chunk.h"
#include "sql/db.h"
#include "sql/facts.h"
#include "sql_data.h"

/* --- the chunk at the cut ---------------------------------------------------------------------------------------- */

static struct record record_of(const struct chunk_view *v, size_t i)
{
	struct record record = {
		.offset = v->offset[i],
		.timestamp_ms = v->timestamp_ms[i],
		.key = v->key_bytes + v->key_at[i],
		.key_size = v->flags[i] & RECORD_NULL_KEY ? -1 : (int32_t)(v->key_at[i + 1] - v->key_at[i]),
		.value_size = v->value_size[i],
		.value_hash = v->value_hash[i],
	};

	if (v->number && v->flags[i] & RECORD_NUMBER) {
		record.has_number = true;
		record.number = v->number[i];
	}
	if (v->source_topic_at && v->flags[i] & RECORD_SOURCE) {
		record.source_topic = (const char *)v->source_topic_bytes + v->source_topic_at[i];
		record.source_topic_size = v->source_topic_at[i + 1] - v->source_topic_at[i];
		record.source_partition = v->source_partition[i];
		record.source_offset = v->source_offset[i];
	}
	return record;
}

static int add_below(const struct chunk_view *view, int64_t cut, struct chunk_builder *builder, struct trouble *t)
{
	for (size_t i = 0; i < view->records && view->offset[i] < cut; i++) {
		struct record record = record_of(view, i);

		if (chunk_builder_add(builder, &record, t) < 0)
			return -1;
	}
	return 0;
}

static int add_chunk(sqlite3 *db, const int64_t *place, const struct chunk_span *span, const struct chunk_blob *blob,
		     struct trouble *t)
{
	sqlite3_stmt *stmt;
	int result;

	if (db_prepare(db, sql_queries_chunk_add, &stmt, t) < 0)
		return -1;
	for (int i = 0; i < 3; i++)
		db_bind_int(stmt, i + 1, place[i]);
	db_bind_int(stmt, 4, span->first_offset);
	db_bind_int(stmt, 5, span->end_offset);
	db_bind_int(stmt, 6, (int64_t)span->records);
	db_bind_int(stmt, 7, span->min_ms);
	db_bind_int(stmt, 8, span->max_ms);
	db_bind_blob(stmt, 9, blob->data, blob->size);
	result = db_run(stmt, t);
	sqlite3_finalize(stmt);
	return result;
}

/* The records of one chunk below cut, as a chunk of place: new incarnation, partition, kind. */
static int cut_chunk(sqlite3 *db, const int64_t *place, const void *data, size_t size, int64_t cut, struct trouble *t)
{
	struct chunk_reader *reader = chunk_reader_new();
	struct chunk_encoder *encoder = chunk_encoder_new(1);
	struct chunk_builder *builder = NULL;
	struct chunk_blob blob = { 0 };
	struct chunk_view view;
	struct chunk_span span;
	int result = chunk_decode(reader, data, size, ~0U, &view, t);

	if (result == 0) {
		builder = chunk_builder_new(CHUNK_ALWAYS | (view.number ? CHUNK_NUMBER : 0) |
					    (view.source_topic_at ? CHUNK_SOURCE : 0));
		result = add_below(&view, cut, builder, t);
	}
	if (result == 0) {
		span = chunk_builder_span(builder);
		if (span.records > 0) {
			chunk_builder_seal(builder, encoder, &blob);
			result = add_chunk(db, place, &span, &blob, t);
		}
	}
	chunk_blob_release(&blob);
	if (builder)
		chunk_builder_free(builder);
	chunk_encoder_free(encoder);
	chunk_reader_free(reader);
	return result;
}

static int cut_chunks(sqlite3 *db, int64_t old_id, int64_t new_id, int32_t partition, int64_t cut, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int more;

	if (db_prepare(db, sql_queries_chunk_across, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, old_id);
	db_bind_int(stmt, 2, partition);
	db_bind_int(stmt, 3, cut);
	while ((more = db_step(stmt, t)) > 0) {
		const int64_t place[] = { new_id, partition, db_int(stmt, 0) };

		more = cut_chunk(db, place, sqlite3_column_blob(stmt, 1), (size_t)sqlite3_column_bytes(stmt, 1), cut,
				 t);
		if (more < 0)
			break;
	}
	sqlite3_finalize(stmt);
	return more;
}

/* --- partitions -------------------------------------------------------------------------------------------------- */

static int inherit(sqlite3 *db, int64_t old_id, int64_t new_id, struct topic_part *part, int64_t cut, struct trouble *t)
{
	const int64_t values[] = { old_id, new_id, part->partition, cut };

	if (part->next == UNKNOWN)
		return 0;
	if (cut <= part->first && part->next > part->first) {
		part->first = part->next = part->gap = UNKNOWN;
		return 0;
	}
	if (statement_ints(db, sql_queries_partition_inherit, values, 4, t) < 0 ||
	    statement_ints(db, sql_queries_chunk_inherit, values, 4, t) < 0 ||
	    statement_ints(db, sql_queries_gap_range_inherit, values, 4, t) < 0 ||
	    cut_chunks(db, old_id, new_id, part->partition, cut, t) < 0)
		return -1;
	part->next = part->next < cut ? part->next : cut;
	part->gap = part->gap < cut ? part->gap : cut;
	return 0;
}

static int64_t cut_of(const struct divergences *found, int32_t partition)
{
	for (size_t i = 0; i < found->count; i++)
		if (found->items[i].partition == partition)
			return found->items[i].offset;
	return INT64_MAX;
}

static int add_facts(const struct run *run, const char *cluster, sqlite3 *db, const struct topic_history *topic,
		     int64_t old_id, const struct divergences *found, struct trouble *t)
{
	for (size_t i = 0; i < found->count; i++) {
		const struct divergence *d = &found->items[i];
		const struct fact_rewrite row = {
			.run_id = run->id,
			.cluster = cluster,
			.topic = topic->topic,
			.partition = d->partition,
			.kind = d->differs ? "differs" : "fell",
			.offset = d->offset,
			.old_incarnation_id = old_id,
			.new_incarnation_id = topic->incarnation_id,
			.evidence = d->evidence,
		};

		if (fact_rewrite_add(db, &row, NULL, t) < 0)
			return -1;
	}
	return 0;
}

int rewrite_topic(const struct run *run, const char *cluster, sqlite3 *db, struct topic_history *topic,
		  const struct divergences *found, struct trouble *t)
{
	int64_t old_id = topic->incarnation_id;
	const int64_t values[] = { old_id, run->id };

	if (statement_ints(db, sql_queries_incarnation_heir, values, 2, t) < 0)
		return -1;
	topic->incarnation_id = sqlite3_last_insert_rowid(db);
	topic->rewritten = true;
	if (statement_ints(db, sql_queries_incarnation_end, values, 2, t) < 0)
		return -1;
	for (int32_t i = 0; i < topic->partitions; i++)
		if (inherit(db, old_id, topic->incarnation_id, &topic->parts[i], cut_of(found, i), t) < 0)
			return -1;
	return add_facts(run, cluster, db, topic, old_id, found, t);
}
