/* resume: finding, beginning and bringing forward incarnations. */
#include "ingest/resume.h"

#include <string.h>

#include "sql/db.h"
#include "sql_data.h"

/* Runs one statement of integers that gives no rows. */
static int run_ints(sqlite3 *db, const char *sql, const int64_t *values, int count, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int result;

	if (db_prepare(db, sql, &stmt, t) < 0)
		return -1;
	for (int i = 0; i < count; i++)
		db_bind_int(stmt, i + 1, values[i]);
	result = db_run(stmt, t);
	sqlite3_finalize(stmt);
	return result;
}

static bool compacts(const struct topic_description *description)
{
	return description->cleanup_policy && strstr(description->cleanup_policy, "compact");
}

/* 1 with incarnation_id; 0: none yet; -1. */
static int find(struct source *source, sqlite3 *db, struct topic_history *topic, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int more;

	if (db_prepare(db, sql_queries_incarnation_find, &stmt, t) < 0)
		return -1;
	db_bind_text(stmt, 1, source->ops->cluster(source));
	db_bind_text(stmt, 2, topic->topic);
	db_bind_text(stmt, 3, isolation_word(topic->isolation));
	more = db_step(stmt, t);
	if (more > 0)
		topic->incarnation_id = db_int(stmt, 0);
	sqlite3_finalize(stmt);
	return more;
}

static int begin(const struct run *run, struct source *source, sqlite3 *db, struct topic_history *topic, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int result;

	if (db_prepare(db, sql_queries_incarnation_add, &stmt, t) < 0)
		return -1;
	db_bind_text(stmt, 1, source->ops->cluster(source));
	db_bind_text(stmt, 2, topic->topic);
	db_bind_text(stmt, 3, isolation_word(topic->isolation));
	db_bind_int(stmt, 4, run->id);
	db_bind_int(stmt, 5, compacts(&topic->description));
	db_bind_int(stmt, 6, !topic->description.cleanup_policy);
	result = db_run(stmt, t);
	sqlite3_finalize(stmt);
	if (result == 0)
		topic->incarnation_id = sqlite3_last_insert_rowid(db);
	return result;
}

static int load(sqlite3 *db, struct topic_history *topic, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int more;

	if (db_prepare(db, sql_queries_partition_list, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, topic->incarnation_id);
	while ((more = db_step(stmt, t)) > 0) {
		int64_t partition = db_int(stmt, 0);
		struct topic_part *part;

		if (partition >= topic->partitions)
			continue;
		part = &topic->parts[partition];
		part->first = db_int(stmt, 1);
		part->next = db_int(stmt, 2);
		part->gap = db_int(stmt, 3);
	}
	sqlite3_finalize(stmt);
	return more;
}

static int begin_part(sqlite3 *db, const struct topic_history *topic, struct topic_part *part, struct trouble *t)
{
	const int64_t values[] = { topic->incarnation_id, part->partition, part->log_start };

	part->first = part->next = part->gap = part->log_start;
	return run_ints(db, sql_queries_partition_begin, values, 3, t);
}

/* Records were trimmed before they were indexed. Holes were looked at as far as before; the new one needs no look. */
static int trim_part(const struct run *run, sqlite3 *db, const struct topic_history *topic, struct topic_part *part, struct trouble *t)
{
	const int64_t next[] = { topic->incarnation_id, part->partition, part->log_start };
	sqlite3_stmt *stmt;
	int result;

	if (db_prepare(db, sql_queries_gap_range_add, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, topic->incarnation_id);
	db_bind_int(stmt, 2, part->partition);
	db_bind_int(stmt, 3, part->next);
	db_bind_int(stmt, 4, part->log_start);
	db_bind_text(stmt, 5, "trimmed");
	db_bind_int(stmt, 6, run->id);
	result = db_run(stmt, t);
	sqlite3_finalize(stmt);
	if (result == 0)
		result = run_ints(db, sql_queries_partition_next, next, 3, t);
	part->next = part->log_start;
	return result;
}

int resume_parts(const struct run *run, sqlite3 *db, struct topic_history *topic, struct trouble *t)
{
	int result = 0;

	for (int32_t i = 0; i < topic->partitions && result == 0; i++) {
		struct topic_part *part = &topic->parts[i];

		if (part->log_start == UNKNOWN)
			continue;
		if (part->next == UNKNOWN)
			result = begin_part(db, topic, part, t);
		else if (part->next < part->log_start)
			result = trim_part(run, db, topic, part, t);
	}
	return result;
}

static int bring_forward(const struct run *run, struct source *source, sqlite3 *db, struct topic_history *topic, struct trouble *t)
{
	const int64_t policy[] = { topic->incarnation_id, compacts(&topic->description), !topic->description.cleanup_policy };

	if (topic->incarnation_id == 0)
		return begin(run, source, db, topic, t) < 0 ? -1 : resume_parts(run, db, topic, t);
	if (run_ints(db, sql_queries_incarnation_policy, policy, 3, t) < 0)
		return -1;
	return resume_parts(run, db, topic, t);
}

int resume_topics(const struct run *run, struct source *source, sqlite3 *db, struct topic_history *topics, size_t count, struct trouble *t)
{
	for (size_t i = 0; i < count; i++) {
		int found;

		if (topics[i].partitions <= 0)
			continue;
		found = find(source, db, &topics[i], t);
		if (found < 0 || (found > 0 && load(db, &topics[i], t) < 0))
			return -1;
	}
	if (db_begin(db, t) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (topics[i].partitions > 0 && bring_forward(run, source, db, &topics[i], t) < 0) {
			db_rollback(db);
			return -1;
		}
	return db_commit(db, t);
}
