/*
 * checkfile: a check as it is written: one SQL file whose name is the check's. It opens with header comments, then
 *
 *     -- order: 150                     where it is shown; 1000 unless told
 *     -- subject: stream                what it speaks of: pipeline (unless told), stream or server
 *     -- title: a few words
 *     -- severity: error                info, warning or error
 *     -- claim: what must be so
 *     -- unverifiable: when that cannot be decided
 *     -- remedy: the smallest safe repair
 *     --   and its next line
 *
 *     1st statement   rows (pipeline, reason, n): subjects examined where reason is NULL, else unverifiable. A
 *                     pipeline without a row is one that the check does not apply to. For checks of
 *                     streams and servers the column holds their word in the view scope
 *     2nd statement   one row per finding, in a fixed order: pipeline, topic, partition, offset, key, redis_key,
 *                     identity, detail, evidence; optional stream, grp, consumer, entry, remedy, severity (not
 *                     graver than the check's). identity is text: what else makes the finding the same one in the
 *                     next run
 *     3rd statement   optional: rows (pipeline, n), the exact number of findings where the second does not give
 *                     them all
 *
 * :run is the run. Statements only read. Besides the tables of the index they see what sql/queries/check_fault.sql,
 * check_stream.sql and check_server.sql made.
 */
#ifndef ANALYZER_CHECKFILE_H
#define ANALYZER_CHECKFILE_H

#include <stddef.h>

#include "sql/trouble.h"

struct check {
	char *name, *file;       /* file: as people know it */
	char *subject, *severity, *title, *claim, *unverifiable, *remedy;
	char *sql;               /* the whole file */
	long order;
};

/* Sorted by order, then name. */
struct checks {
	struct check *items;
	size_t n;
};

/*
 * The checks compiled in and those of dir (NULL: none), which add or override by name. 0, or -1 with the file and what
 * is wrong with it.
 */
int checks_load(const char *dir, struct checks *checks, struct trouble *t);
void checks_free(struct checks *checks);

#endif
