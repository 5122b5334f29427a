/*
 * feed: the committed records of a partition, chunk by chunk, decoded and placed by a thread of its own some chunks
 * ahead of their use.
 *
 *     feed = feed_new(db, columns, topic, cells);
 *     feed_begin(feed, part, taker);
 *     while ((more = feed_next(feed, &placed, t)) > 0)
 *             use(placed);
 *     feed_end(feed);
 *
 * Between feed_begin and feed_end the thread reads through the caller's connection: the caller must not use it.
 */
#ifndef ANALYZER_FEED_H
#define ANALYZER_FEED_H

#include <sqlite3.h>
#include <stddef.h>

#include "analyzer/placed.h"
#include "analyzer/topic.h"
#include "sql/trouble.h"

struct feed;

/*
 * Called with every chunk, in their order, before feed_next gives it away; in the feed's thread or, within feed_next,
 * in the caller's. take NULL: nothing is.
 */
struct feed_taker {
	void (*take)(void *context, const struct placed *placed);
	void *context;
};

/*
 * columns: enum chunk_columns; those that placing needs are always read. topic is borrowed, and its keys are cut as it
 * says. Where no thread can be started, or where a partition has too little for it, feed_next does the work.
 */
struct feed *feed_new(sqlite3 *db, unsigned columns, const struct fold_topic *topic, size_t cells);
void feed_free(struct feed *feed);

/*
 * Begins at the part's first record; ends a reading under way. part is borrowed until feed_end, and what the taker works
 * on is the feed's until then.
 */
void feed_begin(struct feed *feed, const struct fold_partition *part, struct feed_taker taker);

/* 1 with records, borrowed until the next call; 0 at the end; -1 with words that name the damaged chunk. */
int feed_next(struct feed *feed, const struct placed **placed, struct trouble *t);

/* Stops reading ahead; afterwards the caller may use the connection. */
void feed_end(struct feed *feed);

#endif
