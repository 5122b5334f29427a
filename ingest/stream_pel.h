/*
 * stream_pel: a group's pending entries on their way: what stream_pending.c (pages of XPENDING) and stream_range.c
 * (whether the entries still exist) share.
 */
#ifndef INGEST_STREAM_PEL_H
#define INGEST_STREAM_PEL_H

#include "ingest/stream_watch.h"

/* One page whose entries are being answered, one whose are asked for, one on its way. */
enum { PEL_PAGE = 10000, PEL_PAGES = 3 };

/* An entry of the sample. */
struct pel_entry {
	uint8_t id[ENTRY_SIZE];
	char text[ENTRY_ROOM];
	uint8_t text_size;
	int64_t idle_ms, deliveries;
	size_t consumer_at, consumer_size;
};

/* Entries in the order of their ids: [0, sent) are asked for, answered is how many have become rows or suspects. */
struct pel_page {
	struct pel_entry *entries; /* PEL_PAGE */
	size_t count, sent, answered;
	struct buffer names; /* of consumers; the same one twice in a row is there once */
};

/* Entries [first, end) of a page, asked for by one XRANGE; page NULL: an XPENDING. */
struct pel_run {
	struct pel_page *page;
	size_t first, end;
};

/* Runs, first in first out. */
struct pel_queue {
	struct pel_run *runs;
	size_t head, count, room; /* room: a power of two */
};

/* The reply to the XRANGE that was sent first, as far as it came; zeroed between replies. */
struct pel_reply {
	bool begun;
	size_t wanted;        /* entries of the run, as it was asked for: [first, end) is what is left of it */
	size_t elements, got; /* of the reply */
	size_t bytes;
	uint8_t before[ENTRY_SIZE]; /* the last id that came */
};

struct pel {
	struct stream_watch *watch;
	struct group_look *look;
	struct pel_page pages[PEL_PAGES]; /* page n is at n % PEL_PAGES */
	char cursor[ENTRY_ROOM + 1];
	uint8_t last[ENTRY_SIZE]; /* the id in the cursor */
	int64_t total;            /* as the summary has it, for the progress */
	int64_t ask;              /* entries to ask for with one XPENDING */
	int64_t number;           /* of the last page that came, from 1 */
	int64_t sending;          /* of the page whose entries are asked for next */
	bool done;                /* it was the last one there is */
	bool asked;               /* an XPENDING is in flight */
	int process;
	struct pel_queue flying, again; /* commands without a reply; runs that were cut short */
	size_t flying_entries;          /* of the XRANGEs in flight */
	size_t window;                  /* most of them: entries may be large */
	size_t run;                     /* entries to ask for with one XRANGE */
	size_t sparse;                  /* XRANGEs to come that do not try longer runs */
	struct pel_reply reply;
	struct buffer range_head, words;
};

static inline bool page_open(const struct pel_page *page)
{
	return page->answered < page->count;
}

void pel_push(struct pel_queue *queue, struct pel_run run);
/* There must be one. */
struct pel_run *pel_first(const struct pel_queue *queue);
struct pel_run pel_pop(struct pel_queue *queue);

/* Appends a text in the protocol's form. */
void pel_text(struct buffer *out, const void *at, size_t size);

/* Always -1. */
int pel_odd(const char *command, struct trouble *t);

/* Queues XRANGEs until the window is full or nothing is left to ask; whether there were any. */
bool pel_send_ranges(struct pel *pel);

/* A redis_scan of the reply to the first XRANGE in flight; context: the pel. */
int pel_scan_range(void *context, struct bytes have, size_t *used, struct trouble *t);

/* The reply, where it is not entries. Always -1. */
int pel_refused_range(struct pel *pel, const redisReply *reply, struct trouble *t);

#endif
