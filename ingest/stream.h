/*
 * stream: looks at Redis Streams and their consumer groups, for the entries of streams: in the config. It sends
 * commands that read, and none that claims, acknowledges or counts a delivery.
 *
 * For each stream, in this order:
 *
 *   1. the server's clock, XINFO STREAM, XINFO GROUPS
 *   2. for each group XINFO CONSUMERS, then its pending entries by pages of XPENDING, and XRANGE for each that is kept
 *   3. XPENDING again for the suspects: late, poison, or gone from the stream
 *   4. XINFO GROUPS again
 *
 * Why a finding is then never a race: what is acknowledged leaves the pending entries for good, so an entry that is
 * pending at both looks was never acknowledged in between; ids only rise, so an entry that is gone does not come back;
 * and as the stream is asked before its groups, an entry that was trimmed by then and lies above a group's
 * last-delivered-id can never be delivered.
 */
#ifndef INGEST_STREAM_H
#define INGEST_STREAM_H

#include <sqlite3.h>
#include <stdint.h>

#include "ingest/config.h"
#include "sql/run.h"
#include "sql/trouble.h"

/*
 * Looks at all streams of the config, for the run run->id, into stream_watch, stream, stream_group, stream_consumer,
 * pending, pending_count and stream_dlq_entry; the servers into redis_server. Ends early, with what is whole, when the
 * run is to stop. What could not be looked at becomes rows in table trouble, of stage streams and pipeline
 * streams/NAME, and the rest goes on. timeout_ms: for connecting and for each reply. 0, or -1 where the index cannot be
 * written.
 */
int stream_look(const struct run *run, sqlite3 *db, const struct config *config, int64_t timeout_ms, struct trouble *t);

#endif
