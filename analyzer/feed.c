/* feed: a ring of slots, each with a scan of its own; at first the caller fills them, then the thread. */
#include "analyzer/feed.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "sql/faultpoint.h"
#include "sql/mem.h"

enum {
	SLOTS = 4,
	AHEAD_LEAST = 1024, /* offsets: of fewer it costs more to wake the thread than to do its work */
	LARGE = 4 << 20 /* bytes of keys in a chunk: nothing is read ahead of it, and its memory is given back */
};

struct slot {
	struct chunk_scan *scan;
	struct placed placed;
	struct trouble trouble;
	int more;                /* what feed_next says of it */
	bool large;
};

struct feed {
	sqlite3 *db;
	unsigned columns;
	struct placed_in in;
	struct feed_taker taker;
	int64_t next;            /* offset; of whoever fills a slot, while it is busy */
	struct slot slots[SLOTS];
	pthread_t thread;
	bool threaded;
	/* Under the lock. */
	pthread_mutex_t lock;
	pthread_cond_t wake_thread, wake_caller;
	size_t filled, emptied;  /* slots since feed_begin; the one at emptied % SLOTS is the caller's */
	bool reading;            /* there may be more to fill */
	bool ahead;              /* the thread fills them; before, the caller does */
	bool busy;               /* a slot is being filled */
	bool held;               /* the caller has a slot */
	bool quit;
};

static struct chunk_scan *new_scan(const struct feed *feed)
{
	struct chunk_scan *scan = chunk_scan_new(feed->db, feed->columns);

	chunk_scan_cut(scan, feed->in.topic->key_part);
	return scan;
}

/* Where one slot is large all are free now: see has_room. */
static void give_back(struct feed *feed)
{
	for (size_t i = 0; i < SLOTS; i++) {
		if (!feed->slots[i].large)
			continue;
		chunk_scan_free(feed->slots[i].scan);
		feed->slots[i].scan = new_scan(feed);
		feed->slots[i].large = false;
	}
}

static void fill(struct feed *feed, struct slot *slot)
{
	struct chunk_place place = { feed->in.topic->incarnation_id, feed->in.part->partition, CHUNK_COMMITTED };
	struct chunk_part part;

	give_back(feed);
	chunk_scan_range(slot->scan, place, feed->next, feed->in.part->indexed_end);
	slot->more = chunk_scan_next(slot->scan, &part, &slot->trouble);
	if (slot->more <= 0)
		return;
	feed->next = part.view->offset[part.view->records - 1] + 1;
	slot->large = part.view->key_at[part.view->records] > LARGE;
	placed_fill(&slot->placed, &feed->in, &part);
	if (feed->taker.take)
		feed->taker.take(feed->taker.context, &slot->placed);
}

/* Whether a slot is free, and none of the full ones is large; if one is, it is the last. */
static bool has_room(const struct feed *feed)
{
	if (feed->filled - feed->emptied == SLOTS)
		return false;
	return feed->filled == feed->emptied || !feed->slots[(feed->filled - 1) % SLOTS].large;
}

/* Fills the next slot; the lock is held before and after, and not during the work. */
static void fill_next(struct feed *feed)
{
	struct slot *slot = &feed->slots[feed->filled % SLOTS];

	feed->busy = true;
	pthread_mutex_unlock(&feed->lock);
	fill(feed, slot);
	pthread_mutex_lock(&feed->lock);
	feed->busy = false;
	feed->filled++;
	feed->reading &= slot->more > 0;
	pthread_cond_signal(&feed->wake_caller);
}

static void *read_ahead(void *context)
{
	struct feed *feed = context;

	pthread_mutex_lock(&feed->lock);
	while (!feed->quit) {
		if (feed->reading && feed->ahead && has_room(feed))
			fill_next(feed);
		else
			pthread_cond_wait(&feed->wake_thread, &feed->lock);
	}
	pthread_mutex_unlock(&feed->lock);
	return NULL;
}

struct feed *feed_new(sqlite3 *db, unsigned columns, const struct fold_topic *topic, size_t cells)
{
	struct feed *feed = xalloc(sizeof(*feed));

	*feed = (struct feed){ .db = db, .columns = columns | CHUNK_OFFSET | CHUNK_KEY | CHUNK_FLAGS,
			       .in = { .topic = topic, .cells = cells } };
	for (size_t i = 0; i < SLOTS; i++) {
		feed->slots[i].scan = new_scan(feed);
		placed_init(&feed->slots[i].placed);
	}
	pthread_mutex_init(&feed->lock, NULL);
	pthread_cond_init(&feed->wake_thread, NULL);
	pthread_cond_init(&feed->wake_caller, NULL);
	feed->threaded = !FAULT(FOLD_THREAD) && pthread_create(&feed->thread, NULL, read_ahead, feed) == 0;
	return feed;
}

void feed_free(struct feed *feed)
{
	if (!feed)
		return;
	pthread_mutex_lock(&feed->lock);
	feed->quit = true;
	pthread_cond_signal(&feed->wake_thread);
	pthread_mutex_unlock(&feed->lock);
	if (feed->threaded)
		pthread_join(feed->thread, NULL);
	for (size_t i = 0; i < SLOTS; i++) {
		chunk_scan_free(feed->slots[i].scan);
		placed_release(&feed->slots[i].placed);
	}
	pthread_mutex_destroy(&feed->lock);
	pthread_cond_destroy(&feed->wake_thread);
	pthread_cond_destroy(&feed->wake_caller);
	free(feed);
}

void feed_begin(struct feed *feed, const struct fold_partition *part, struct feed_taker taker)
{
	feed_end(feed);
	pthread_mutex_lock(&feed->lock);
	feed->in.part = part;
	feed->taker = taker;
	feed->next = 0;
	feed->filled = feed->emptied = 0;
	feed->held = false;
	feed->reading = true;
	feed->ahead = false;
	pthread_mutex_unlock(&feed->lock);
}

/* The caller waits for the first chunk in any case; what follows is left to the thread where that is worth it. */
static void fill_here(struct feed *feed)
{
	fill_next(feed);
	feed->ahead = feed->threaded && feed->reading && feed->in.part->indexed_end - feed->next > AHEAD_LEAST;
	if (feed->ahead)
		pthread_cond_signal(&feed->wake_thread);
}

int feed_next(struct feed *feed, const struct placed **placed, struct trouble *t)
{
	struct slot *slot;

	*placed = NULL;
	pthread_mutex_lock(&feed->lock);
	/* The slot of the last call is free now; the one that said the end stays. */
	if (feed->held) {
		feed->emptied++;
		if (feed->ahead)
			pthread_cond_signal(&feed->wake_thread);
	}
	while (feed->filled == feed->emptied && feed->reading) {
		if (feed->ahead)
			pthread_cond_wait(&feed->wake_caller, &feed->lock);
		else
			fill_here(feed);
	}
	slot = &feed->slots[feed->emptied % SLOTS];
	feed->held = slot->more > 0;
	pthread_mutex_unlock(&feed->lock);
	if (slot->more < 0 && t)
		*t = slot->trouble;
	if (slot->more > 0)
		*placed = &slot->placed;
	return slot->more;
}

void feed_end(struct feed *feed)
{
	pthread_mutex_lock(&feed->lock);
	feed->reading = false;
	while (feed->busy)
		pthread_cond_wait(&feed->wake_caller, &feed->lock);
	pthread_mutex_unlock(&feed->lock);
}
