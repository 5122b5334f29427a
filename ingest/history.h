/*
 * history: the sink of records. Sources hand records over as they read them; they become chunks and go to the
 * writer, together with how far the partition has come, in one job: a killed replay resumes where it stopped,
 * nothing twice, nothing lost.
 *
 * Every reading thread enters for itself and owns the parts that it adds to; nothing is locked or allocated per
 * record. A part is sealed when its chunk is full, when all builders together exceed HISTORY_MEMORY (then the
 * largest), and when the source leaves it.
 */
#ifndef INGEST_HISTORY_H
#define INGEST_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ingest/source.h"
#include "sql/run.h"
#include "sql/trouble.h"
#include "sql/writer.h"

enum {
	HISTORY_MEMORY = 128 << 20, /* bytes of all builders together */
	HISTORY_LEVEL = -5,         /* of zstd, while reading live */
};

struct history;
struct history_thread;

/* parts are borrowed until history_free. */
struct history *history_new(const struct run *run, struct writer *writer, const struct replay_part *parts,
			    size_t count);
void history_free(struct history *history);

/* Records added so far, of one part. */
int64_t history_records(const struct history *history, size_t part);

/*
 * A reading thread comes and goes. Leaving seals nothing: end its parts first. The memory is shared out among those
 * that ever came.
 */
struct history_thread *history_enter(struct history *history);
void history_leave(struct history_thread *thread);

/*
 * Adds one record of a part; offsets ascend. 0, or -1: the record is refused (t), or the writer has failed (t
 * empty).
 */
int history_add(struct history_thread *thread, size_t part, const struct raw_record *record, struct trouble *t);

/* Everything below log_start was trimmed before it could be read: a hole [from, log_start) of class trimmed. */
int history_trimmed(struct history_thread *thread, size_t part, int64_t from, int64_t log_start);

/*
 * The source has read everything below position and leaves the part: seals, and moves next_offset to position. 0,
 * or -1: the writer has failed.
 */
int history_end(struct history_thread *thread, size_t part, int64_t position);

/* What the index keeps of a record: hash, number, source coordinates. Pointers of out point into raw. */
void history_record(const struct raw_record *raw, bool numbers, struct record *out);

/* "topic/partition/offset"; the topic may hold slashes. False: it is not of that form. */
bool history_source(const void *header, size_t size, struct record *out);

/* The bytes as decimal int64: -?[0-9]+ and nothing else. False: they are not. */
bool history_number(const void *bytes, int64_t size, int64_t *number);

#endif
