/*
 * facts: typed inserts into the tables of facts. One X-macro a table gives the struct, the statement and the binding,
 * so that a column is named once in C. NULL: UNKNOWN for INT, NULL for TEXT, bytes NULL for BLOB. Rows are copied by
 * SQLite during the call; nothing is kept.
 */
#ifndef SQL_FACTS_H
#define SQL_FACTS_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/trouble.h"

struct bytes {
	const void *at; /* NULL: NULL */
	size_t size;
};

#define FACT_SETTING(INT, TEXT, BLOB) TEXT(name) TEXT(value)
#define FACT_STAGE(INT, TEXT, BLOB) TEXT(name) INT(started_us) INT(duration_us)
#define FACT_TROUBLE(INT, TEXT, BLOB) TEXT(stage) TEXT(pipeline) TEXT(topic) INT(partition) TEXT(text)
#define FACT_PIPELINE(INT, TEXT, BLOB)                                                                                 \
	TEXT(name) TEXT(mapping_sha256) TEXT(kafka) TEXT(group_id) TEXT(redis) TEXT(key_template) TEXT(key_format)     \
	TEXT(epoch_template) TEXT(field_offset) TEXT(field_partition) TEXT(field_value) TEXT(state) TEXT(tombstones)   \
	INT(expires_ms) TEXT(isolation) TEXT(horizon) INT(horizon_age_ms) TEXT(from_kind) INT(from_us) TEXT(rejects)   \
	TEXT(dlq) TEXT(dlq_header) INT(expect_empty) INT(recent_ms) TEXT(group_state) INT(group_members)               \
	INT(group_us)                                                                                                  \
	TEXT(mapping) TEXT(mapping_hint) TEXT(replica) INT(cluster_plan) TEXT(partitioner) INT(hot_share)                     \
	TEXT(key_part)
#define FACT_TOPIC(INT, TEXT, BLOB)                                                                                    \
	INT(pipeline_id) TEXT(topic) TEXT(role) INT(incarnation_id) INT(partitions) INT(partitions_at_start)           \
	TEXT(cleanup_policy) INT(retention_ms) TEXT(timestamp_type) INT(main_threshold) INT(recent_threshold)          \
	INT(main_keys) INT(recent_keys) INT(recent_from_ms) INT(history_keys) INT(redis_keys) INT(redis_keys_taken)    \
	INT(scan_complete)
#define FACT_HORIZON(INT, TEXT, BLOB)                                                                                  \
	INT(topic_id) INT(partition) INT(log_start) INT(log_start_us) INT(end_first) INT(end_first_us)                 \
	INT(log_start_before_commit) INT(log_start_before_commit_us) INT(high_watermark_before_commit)                 \
	INT(high_watermark_before_commit_us) INT(committed) INT(committed_us)                                          \
	TEXT(commit_trouble) INT(last_stable) INT(last_stable_us) INT(high_watermark) INT(high_watermark_us)           \
	INT(last_high_watermark) INT(last_high_watermark_us) INT(indexed_start) INT(indexed_end) INT(from_offset)      \
	INT(start_offset) INT(end_offset) TEXT(reason) TEXT(end_source) INT(covered) INT(records)
#define FACT_FENCE(INT, TEXT, BLOB)                                                                                    \
	INT(topic_id) INT(hash) BLOB(key) BLOB(redis_key) INT(strata) INT(sampled_us) INT(present) TEXT(type)          \
	INT(partition)                                                                                                 \
	INT(offset) TEXT(malformed) BLOB(partition_raw) BLOB(offset_raw) INT(value_hash) INT(value_number)             \
	BLOB(value_raw) INT(ttl_ms) INT(field_ttl_ms) INT(slot) TEXT(node)
#define FACT_EPOCH(INT, TEXT, BLOB)                                                                                    \
	INT(topic_id) INT(partition) BLOB(redis_key) INT(read_us) INT(present) INT(value) TEXT(malformed)
#define FACT_REDIS_SERVER(INT, TEXT, BLOB)                                                                             \
	TEXT(address) INT(read_us) TEXT(role) TEXT(version) TEXT(process) TEXT(replid) TEXT(replid2) INT(repl_offset)  \
	INT(second_repl_offset) INT(uptime_s) INT(keys) INT(server_us) INT(host_us) INT(answered_in_us)                \
	TEXT(settings_trouble)
#define FACT_REWRITE(INT, TEXT, BLOB)                                                                                  \
	TEXT(cluster) TEXT(topic) INT(partition) TEXT(kind) INT(offset) INT(old_incarnation_id)                        \
	INT(new_incarnation_id)                                                                                        \
	TEXT(evidence)

#define FACT_STREAM_WATCH(INT, TEXT, BLOB)                                                                             \
	TEXT(name) TEXT(redis) TEXT(key) TEXT(group_name) TEXT(excluded) INT(idle_ms) INT(deliveries) TEXT(dlq)        \
	INT(lag_max)                                                                                                   \
	INT(backlog_age_max_ms) INT(consumer_idle_max_ms) INT(length_max) INT(pending_keys) INT(looked)
#define FACT_STREAM(INT, TEXT, BLOB)                                                                                   \
	INT(watch_id) BLOB(redis_key) TEXT(role) INT(present) TEXT(trouble) INT(read_us) INT(server_ms) INT(length)    \
	BLOB(last_generated) BLOB(first_entry) BLOB(last_entry) BLOB(max_deleted) INT(entries_added) INT(groups)       \
	INT(listed)
#define FACT_STREAM_GROUP(INT, TEXT, BLOB)                                                                             \
	INT(stream_id) BLOB(name) TEXT(trouble) INT(read_us) INT(consumers) INT(pending) BLOB(last_delivered)          \
	INT(entries_read) INT(lag) INT(consumers_after) INT(pending_after) BLOB(last_delivered_after)                  \
	INT(entries_read_after) INT(lag_after) INT(threshold) INT(listed) INT(kept) INT(acknowledged)
#define FACT_STREAM_CONSUMER(INT, TEXT, BLOB)                                                                          \
	INT(group_id) BLOB(name) INT(pending) INT(idle_ms) INT(inactive_ms)

/* table, X-macro of its columns after run_id */
#define FACT_TABLES(TABLE)                                                                                             \
	TABLE(setting, FACT_SETTING)                                                                                   \
	TABLE(stage, FACT_STAGE)                                                                                       \
	TABLE(trouble, FACT_TROUBLE)                                                                                   \
	TABLE(pipeline, FACT_PIPELINE)                                                                                 \
	TABLE(topic, FACT_TOPIC)                                                                                       \
	TABLE(horizon, FACT_HORIZON)                                                                                   \
	TABLE(fence, FACT_FENCE)                                                                                       \
	TABLE(epoch, FACT_EPOCH)                                                                                       \
	TABLE(redis_server, FACT_REDIS_SERVER)                                                                         \
	TABLE(rewrite, FACT_REWRITE)                                                                                   \
	TABLE(stream_watch, FACT_STREAM_WATCH)                                                                         \
	TABLE(stream, FACT_STREAM)                                                                                     \
	TABLE(stream_group, FACT_STREAM_GROUP)                                                                         \
	TABLE(stream_consumer, FACT_STREAM_CONSUMER)

#define FACT_FIELD_INT(name) int64_t name;
#define FACT_FIELD_TEXT(name) const char *name;
#define FACT_FIELD_BLOB(name) struct bytes name;
#define FACT_STRUCT(table, COLUMNS)                                                                                    \
	struct fact_##table {                                                                                          \
		int64_t run_id;                                                                                        \
		COLUMNS(FACT_FIELD_INT, FACT_FIELD_TEXT, FACT_FIELD_BLOB)                                              \
	};
FACT_TABLES(FACT_STRUCT)

/* fact_TABLE_sql is the INSERT; fact_TABLE_bind binds a row to it. */
#define FACT_DECLARE(table, COLUMNS)                                                                                   \
	extern const char fact_##table##_sql[];                                                                        \
	void fact_##table##_bind(sqlite3_stmt *stmt, const struct fact_##table *row);                                  \
	/* Prepares, inserts one row, finalizes; for facts that come a few at a time. The new rowid in *rowid,         \
	 * unless NULL. */                                                                                             \
	int fact_##table##_add(sqlite3 *db, const struct fact_##table *row, int64_t *rowid, struct trouble *t);
FACT_TABLES(FACT_DECLARE)

#endif
