/*
 * outfile: a file of a report. It is written under a temporary name beside its own, plain or as one zstd frame, hashed
 * on the way, flushed to the disk, and only then given its name. The first trouble sticks: writes after it do nothing,
 * and outfile_commit tells it.
 */
#ifndef REPORTS_OUTFILE_H
#define REPORTS_OUTFILE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/trouble.h"

enum outfile_form { OUTFILE_PLAIN, OUTFILE_ZSTD };

enum { OUTFILE_HASH_ROOM = 65 };

/* What a file holds. content: before compression; the same as the file where it is plain. */
struct outfile_sum {
	int64_t bytes, content_bytes;
	char sha256[OUTFILE_HASH_ROOM], content_sha256[OUTFILE_HASH_ROOM];
};

struct outfile;

/* Begins the file. NULL with trouble. One of the next two frees it. */
struct outfile *outfile_open(const char *path, enum outfile_form form, struct trouble *t);

/*
 * Ends, flushes, names and frees the file, and fills *sum, which may be NULL. 0, or -1 with no file left under either
 * name of this call's making.
 */
int outfile_commit(struct outfile *out, struct outfile_sum *sum, struct trouble *t);

/* Removes what was written and frees. */
void outfile_abandon(struct outfile *out);

void outfile_write(struct outfile *out, const void *bytes, size_t size);
void outfile_text(struct outfile *out, const char *text);
void outfile_format(struct outfile *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void outfile_json(struct outfile *out, const json_t *value, size_t flags); /* flags of jansson */

/* Flushes a directory's entries to the disk. 0 or -1. */
int outfile_sync_directory(const char *path, struct trouble *t);

#endif
