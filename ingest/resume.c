/* resume: finding, beginning and bringing forward incarnations. */
#include "ingest/resume.h"

#include <stdlib.h>
#include <string.h>

#include "ingest/anchor.h"
#include "ingest/evidence.h"
#include "ingest/rewrite.h"
#include "ingest/statement.h"
#include "sql/db.h"
#include "sql/mem.h"
#include "sql_data.h"

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

static int begin(const struct run *run, struct source *source, sqlite3 *db, struct topic_history *topic,
		 struct trouble *t)
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

/* The topic has fewer partitions than the index: it is another one. */
static void lost_partition(struct divergences *found, int32_t partition, int64_t next)
{
	found->items = xgrow(found->items, found->count + 1, sizeof(*found->items));
	found->items[found->count++] =
		(struct divergence){ .partition = partition, .offset = 0, .evidence = evidence_fell(next, 0, NULL) };
}

static int load(sqlite3 *db, struct topic_history *topic, struct divergences *found, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int more;

	if (db_prepare(db, sql_queries_partition_list, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, topic->incarnation_id);
	while ((more = db_step(stmt, t)) > 0) {
		int64_t partition = db_int(stmt, 0);
		struct topic_part *part;

		if (partition >= topic->partitions) {
			lost_partition(found, (int32_t)partition, db_int(stmt, 2));
			continue;
		}
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
	part->verified = true;
	return statement_ints(db, sql_queries_partition_begin, values, 3, t);
}

/* Records were trimmed before they were indexed. Holes were looked at as far as before; the new one needs no look. */
static int trim_part(const struct run *run, sqlite3 *db, const struct topic_history *topic, struct topic_part *part,
		     struct trouble *t)
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
		result = statement_ints(db, sql_queries_partition_next, next, 3, t);
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

static int bring_forward(const struct run *run, struct source *source, sqlite3 *db, struct topic_history *topic,
			 const struct divergences *found, struct trouble *t)
{
	const char *cluster = source->ops->cluster(source);
	int64_t policy[] = { 0, compacts(&topic->description), !topic->description.cleanup_policy };

	if (topic->incarnation_id == 0)
		return begin(run, source, db, topic, t) < 0 ? -1 : resume_parts(run, db, topic, t);
	if (found->count > 0 && rewrite_topic(run, cluster, db, topic, found, t) < 0)
		return trouble_wrap(t, "topic %s: new incarnation", topic->topic);
	policy[0] = topic->incarnation_id;
	if (statement_ints(db, sql_queries_incarnation_policy, policy, 3, t) < 0)
		return -1;
	return resume_parts(run, db, topic, t);
}

static int load_all(struct source *source, sqlite3 *db, struct topic_history *topics, size_t count,
		    struct divergences *found, struct trouble *t)
{
	for (size_t i = 0; i < count; i++) {
		int more;

		if (topics[i].partitions <= 0)
			continue;
		more = find(source, db, &topics[i], t);
		if (more < 0 || (more > 0 && load(db, &topics[i], &found[i], t) < 0))
			return -1;
	}
	return 0;
}

static int bring_all_forward(const struct run *run, struct source *source, sqlite3 *db, struct topic_history *topics,
			     size_t count, const struct divergences *found, struct trouble *t)
{
	if (db_begin(db, t) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (topics[i].partitions > 0 && bring_forward(run, source, db, &topics[i], &found[i], t) < 0) {
			db_rollback(db);
			return -1;
		}
	return db_commit(db, t);
}

int resume_topics(const struct run *run, struct source *source, sqlite3 *db, struct topic_history *topics, size_t count,
		  struct trouble *t)
{
	struct divergences *found = xarray(count, sizeof(*found));
	int result = load_all(source, db, topics, count, found, t);

	if (result == 0) {
		anchor_check(run, source, db, topics, count, found);
		result = bring_all_forward(run, source, db, topics, count, found, t);
	}
	for (size_t i = 0; i < count; i++)
		divergences_release(&found[i]);
	free(found);
	return result;
}
