/*
 * fake_source: a cluster in memory with one topic, as a source. Its log is an array of records per partition, which
 * tests change between runs: compact, trim, abort, truncate, replace. Reading may be made to fail at an offset.
 */
#ifndef TESTS_UNIT_FAKE_SOURCE_H
#define TESTS_UNIT_FAKE_SOURCE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/history.h"
#include "ingest/replay.h"
#include "sql/db.h"
#include "sql/mem.h"
#include "sql_data.h"

enum { FAKE_PARTITIONS = 4, FAKE_RECORDS = 1 << 16 };

struct fake_record {
	bool there, aborted;
	int key, value;
};

struct fake_log {
	struct fake_record *at; /* by offset; not there: a marker, or gone */
	int64_t log_start, end; /* end: last stable offset and high watermark */
	int64_t read;           /* records that reread has handed out */
	int64_t fails;          /* reading fails there; INT64_MAX: never */
};

struct fake_source {
	struct source base;
	int32_t partitions;
	const char *policy; /* NULL: not known */
	struct fake_log log[FAKE_PARTITIONS];
	int probes; /* rounds of probes */
	/* The index beside it. */
	sqlite3 *db;
	struct run run;
	struct topic_history topic;
};

/* --- the log ----------------------------------------------------------------------------------------------------- */

static inline void fake_put(struct fake_source *s, int32_t partition, int key, int value)
{
	struct fake_log *log = &s->log[partition];

	assert_true(log->end < FAKE_RECORDS);
	log->at[log->end++] = (struct fake_record){ .there = true, .key = key, .value = value };
}

static inline void fake_put_aborted(struct fake_source *s, int32_t partition, int key)
{
	fake_put(s, partition, key, 0);
	s->log[partition].at[s->log[partition].end - 1].aborted = true;
}

/* A transaction's marker. */
static inline void fake_put_marker(struct fake_source *s, int32_t partition)
{
	fake_put(s, partition, 0, 0);
	s->log[partition].at[s->log[partition].end - 1].there = false;
}

/* Everything from end on is other than it was, up to a new end. */
static inline void fake_replace(struct fake_source *s, int32_t partition, int64_t from, int64_t end, int value)
{
	s->log[partition].end = from;
	while (s->log[partition].end < end)
		fake_put(s, partition, (int)(s->log[partition].end % 7), value);
}

static inline struct raw_record fake_raw(const struct fake_log *log, int64_t offset, char *bytes, size_t size)
{
	const struct fake_record *r = &log->at[offset];
	int key = snprintf(bytes, size / 2, "key-%d", r->key),
	    value = snprintf(bytes + size / 2, size / 2, "%d", r->value);

	return (struct raw_record){ .offset = offset,
				    .timestamp_ms = 1000 + offset,
				    .key = bytes,
				    .key_size = key,
				    .value = bytes + size / 2,
				    .value_size = value };
}

static inline bool fake_shows(const struct fake_log *log, int64_t offset, enum isolation isolation)
{
	return offset >= log->log_start && log->at[offset].there &&
	       (isolation == ISOLATION_READ_UNCOMMITTED || !log->at[offset].aborted);
}

/* --- the source -------------------------------------------------------------------------------------------------- */

static inline struct fake_source *fake_of(struct source *source)
{
	return (struct fake_source *)source;
}

static const char *fake_cluster(struct source *source)
{
	(void)source;
	return "fake";
}

static int fake_describe(struct source *source, const char *topic, struct topic_description *out, struct trouble *t)
{
	(void)topic;
	(void)t;
	*out = (struct topic_description){ .partitions = fake_of(source)->partitions,
					   .retention_ms = UNKNOWN,
					   .segment_ms = UNKNOWN };
	if (fake_of(source)->policy)
		out->cleanup_policy = xstrdup(fake_of(source)->policy);
	return 0;
}

static int fake_offsets(struct source *source, enum offset_kind kind, struct offset_query *queries, size_t count,
			struct trouble *t)
{
	(void)t;
	for (size_t i = 0; i < count; i++) {
		const struct fake_log *log = &fake_of(source)->log[queries[i].partition];

		queries[i].offset = kind == OFFSET_LOG_START ? log->log_start : log->end;
		queries[i].at_us = 7;
	}
	return 0;
}

static int fake_replay(struct source *source, struct replay_part *parts, size_t count, struct history *sink,
		       struct trouble *t)
{
	struct history_thread *thread = history_enter(sink);
	char bytes[64];

	for (size_t i = 0; i < count; i++) {
		const struct fake_log *log = &fake_of(source)->log[parts[i].partition];

		for (; parts[i].next < parts[i].end && parts[i].next < log->fails; parts[i].next++) {
			struct raw_record raw = fake_raw(log, parts[i].next, bytes, sizeof(bytes));

			if (fake_shows(log, parts[i].next, parts[i].isolation))
				assert_int_equal(history_add(thread, i, &raw, t), 0);
		}
		assert_int_equal(history_end(thread, i, parts[i].next), 0);
		parts[i].covered = parts[i].next == parts[i].end;
		if (!parts[i].covered)
			trouble_set(&parts[i].trouble, "told to fail at %lld", (long long)parts[i].next);
	}
	history_leave(thread);
	return 0;
}

static int fake_reread(struct source *source, struct reread_window *windows, size_t count,
		       void (*take)(void *context, const struct reread_window *window, const struct record *record),
		       void *context, struct trouble *t)
{
	char bytes[64];

	(void)t;
	for (size_t i = 0; i < count; i++) {
		struct fake_log *log = &fake_of(source)->log[windows[i].partition];
		int64_t offset = windows[i].start;
		struct record record;

		for (; offset < windows[i].end && offset < log->fails; offset++) {
			struct raw_record raw = fake_raw(log, offset, bytes, sizeof(bytes));

			if (!fake_shows(log, offset, ISOLATION_READ_UNCOMMITTED))
				continue;
			history_record(&raw, windows[i].numbers, &record);
			take(context, &windows[i], &record);
			log->read++;
		}
		windows[i].covered = offset == windows[i].end;
		if (!windows[i].covered)
			trouble_set(&windows[i].trouble, "told to fail at %lld", (long long)offset);
	}
	return 0;
}

static int fake_probe(struct source *source, enum isolation isolation, struct probe *probes, size_t count,
		      struct trouble *t)
{
	char bytes[64];

	(void)t;
	fake_of(source)->probes++;
	for (size_t i = 0; i < count; i++) {
		const struct fake_log *log = &fake_of(source)->log[probes[i].partition];
		int64_t offset = probes[i].offset;
		struct raw_record raw;

		assert_true(probes[i].offset < probes[i].limit && probes[i].limit <= log->end);
		while (offset < probes[i].limit && !fake_shows(log, offset, isolation))
			offset++;
		probes[i].found = offset < probes[i].limit;
		if (!probes[i].found)
			continue;
		raw = fake_raw(log, offset, bytes, sizeof(bytes));
		history_record(&raw, false, &probes[i].record);
		probes[i].key_copy = xmemdup(raw.key, (size_t)raw.key_size);
		probes[i].record.key = probes[i].key_copy;
	}
	return 0;
}

static const struct source_ops fake_ops = {
	.cluster = fake_cluster,
	.describe = fake_describe,
	.offsets = fake_offsets,
	.replay = fake_replay,
	.reread = fake_reread,
	.probe = fake_probe,
};

/* --- the index --------------------------------------------------------------------------------------------------- */

static inline int64_t fake_clock(void *context)
{
	(void)context;
	return 7;
}

/* The first column of the first row. */
static inline int64_t fake_ask(const struct fake_source *s, const char *sql)
{
	struct trouble t = { 0 };
	sqlite3_stmt *stmt;
	int64_t answer = UNKNOWN;

	if (db_prepare(s->db, sql, &stmt, &t) < 0)
		fail_msg("%s", t.text);
	if (db_step(stmt, &t) > 0)
		answer = db_int(stmt, 0);
	sqlite3_finalize(stmt);
	return answer;
}

static inline struct fake_source *fake_new(int32_t partitions)
{
	static const atomic_int never;
	struct fake_source *s = xalloc(sizeof(*s));
	struct trouble t = { 0 };

	s->base.ops = &fake_ops;
	s->partitions = partitions;
	s->policy = "delete";
	s->run = (struct run){ .wall_us = fake_clock, .tick_us = fake_clock, .stop = &never };
	for (int i = 0; i < FAKE_PARTITIONS; i++)
		s->log[i] =
			(struct fake_log){ .at = xarray(FAKE_RECORDS, sizeof(struct fake_record)), .fails = INT64_MAX };
	assert_int_equal(sqlite3_open(":memory:", &s->db), SQLITE_OK);
	for (const struct sql_file *file = sql_schema_files; file->name; file++)
		assert_int_equal(db_script(s->db, file->text, &t), 0);
	return s;
}

static inline void fake_free(struct fake_source *s)
{
	topic_history_release(&s->topic);
	for (int i = 0; i < FAKE_PARTITIONS; i++)
		free(s->log[i].at);
	sqlite3_close(s->db);
	free(s);
}

/* A run's first step: opens the history. */
static inline void fake_open(struct fake_source *s)
{
	struct trouble t = { 0 };

	topic_history_release(&s->topic);
	s->topic = (struct topic_history){ .topic = xstrdup("orders"), .isolation = ISOLATION_READ_COMMITTED };
	s->run.id++;
	assert_int_equal(db_script(s->db,
				   "INSERT INTO run (command, tool, config, config_sha256, started_us) VALUES "
				   "('replay', '', '', '', 0)",
				   &t),
			 0);
	if (replay_open(&s->run, &s->base, s->db, &s->topic, 1, &t) < 0)
		fail_msg("%s", t.text);
}

/* A whole replay. */
static inline void fake_run(struct fake_source *s)
{
	struct trouble t = { 0 };

	fake_open(s);
	if (replay_run(&s->run, &s->base, s->db, &s->topic, 1, &t) < 0)
		fail_msg("%s", t.text);
}

#endif
