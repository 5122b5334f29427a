/*
 * faultpoint: named places where a test can make a call fail. Each stands in the condition that judges the real call,
 * so that the fault takes the way of the real failure:
 *
 *     if (FAULT(CHUNK_CHECKSUM) || checksum != XXH3_64bits(blob, size))
 *             return trouble_set(t, "the checksum does not match");
 *
 * Without FENCEPOST_FAULTS (make FAULTS=1) they are the constant false. With it, main arms them with the words of the
 * environment variable FENCEPOST_FAULT, and ends with status 99 where an armed fault did not fire: such a test would
 * prove nothing.
 *
 *     FENCEPOST_FAULT=db-step:12,kafka-admin?
 *
 * db-step fails at its twelfth pass alone; without a number a fault fires at every pass. A fault with a question mark
 * need not fire, but whether it did is said in any case.
 */
#ifndef SQL_FAULTPOINT_H
#define SQL_FAULTPOINT_H

#include <stdbool.h>

#include "sql/trouble.h"

/* id, word, what it simulates */
#define FAULT_POINTS(X)                                                                                                \
	/* sql */                                                                                                      \
	X(DB_PREPARE, "db-prepare", "a statement cannot be prepared")                                                  \
	X(DB_STEP, "db-step", "trouble in place of the next row or the end")                                           \
	X(DB_SCRIPT, "db-script", "a script of statements fails")                                                      \
	X(DB_COMMIT, "db-commit", "a transaction outside the writer cannot be committed")                              \
	X(INDEX_LOCK, "index-lock", "the file system refuses the lock of writers")                                     \
	X(WRITER_COMMIT, "writer-commit", "the writer's transaction cannot be committed")                              \
	X(WRITER_JOB, "writer-job", "a job of the writer fails")                                                       \
	X(CHUNK_CHECKSUM, "chunk-checksum", "a chunk whose bytes have changed")                                        \
	X(CHUNK_DECODE, "chunk-decode", "a column that zstd cannot read")                                              \
	X(CHUNK_SCAN, "chunk-scan", "trouble between two chunks of a partition")                                       \
	/* ingest: Kafka */                                                                                            \
	X(CHUNK_WRITE, "chunk-write", "a chunk that cannot be inserted")                                               \
	X(KAFKA_CLIENT, "kafka-client", "librdkafka makes no handle")                                                  \
	X(KAFKA_METADATA, "kafka-metadata", "no metadata of a topic")                                                  \
	X(KAFKA_OFFSETS, "kafka-offsets", "a leader refuses ListOffsets")                                              \
	X(KAFKA_OFFSET, "kafka-offset", "one partition's answer to ListOffsets is an error")                           \
	X(KAFKA_COMMITS, "kafka-commits", "the coordinator refuses the group's commits")                               \
	X(KAFKA_COMMIT, "kafka-commit", "one partition's commit is an error")                                          \
	X(KAFKA_ADMIN, "kafka-admin", "the brokers do not answer admin requests")                                      \
	X(KAFKA_CONFIG, "kafka-config", "DescribeConfigs is refused")                                                  \
	X(KAFKA_GROUP, "kafka-group", "DescribeConsumerGroups is refused")                                             \
	X(KAFKA_CONSUME, "kafka-consume", "a partition cannot be consumed")                                            \
	X(KAFKA_MESSAGE, "kafka-message", "an error in place of a record")                                             \
	X(KAFKA_EOF, "kafka-eof", "the event at the end of a partition is lost")                                       \
	X(KAFKA_POSITION, "kafka-position", "librdkafka tells no position")                                            \
	X(KAFKA_WATERMARKS, "kafka-watermarks", "no watermarks of a partition that stands still")                      \
	X(REPLAY_STOP, "replay-stop", "a replay stops before its end")                                                 \
	X(REREAD, "reread", "a window of holes cannot be read again")                                                  \
	X(PROBE, "probe", "no answer where the index is compared with the topic")                                      \
	/* ingest: Redis */                                                                                            \
	X(REDIS_CONNECT, "redis-connect", "the server refuses a connection")                                           \
	X(REDIS_DROP, "redis-drop", "the connection breaks in the middle of the replies")                              \
	X(REDIS_INFO, "redis-info", "INFO is refused")                                                                 \
	X(REDIS_EPOCH, "redis-epoch", "GET of an epoch is refused")                                                    \
	X(REDIS_SCAN, "redis-scan", "SCAN is refused")                                                                 \
	X(REDIS_HMGET, "redis-hmget", "HMGET is refused")                                                              \
	X(REDIS_PTTL, "redis-pttl", "PTTL is refused")                                                                 \
	X(REDIS_EXISTS, "redis-exists", "EXISTS is refused while key formats are tried")                               \
	X(STREAM_NAMES, "stream-names", "SCAN for streams is refused")                                                 \
	X(STREAM_INFO, "stream-info", "XINFO is refused")                                                              \
	X(STREAM_PENDING, "stream-pending", "a page of XPENDING is refused")                                           \
	X(STREAM_RANGE, "stream-range", "XRANGE of pending entries is refused")                                        \
	X(STREAM_CONFIRM, "stream-confirm", "the second look at a suspect is refused")                                 \
	X(STREAM_ROWS, "stream-rows", "rows of streams that cannot be inserted")                                       \
	X(SAMPLE_WRITE, "sample-write", "samples that cannot be inserted")                                             \
	X(KEYSET_FULL, "keyset-full", "no memory for one more key to look at")                                         \
	/* analyzer */                                                                                                 \
	X(FOLD_FENCES, "fold-fences", "trouble in the middle of the samples")                                          \
	X(FOLD_THREAD, "fold-thread", "no thread can be started for the fold")                                         \
	X(FOLD_STREAM, "fold-stream", "trouble in the middle of a partition")                                          \
	X(FOLD_FULL, "fold-full", "the keys do not fit in the memory")                                                 \
	X(FOLD_WRITE, "fold-write", "what the fold says cannot be inserted")                                           \
	X(CHECK_SUBJECT, "check-subject", "a check fails while it counts its subjects")                                \
	X(CHECK_FINDING, "check-finding", "a check fails in the middle of its findings")                               \
	X(FINDING_WRITE, "finding-write", "a finding that cannot be inserted")                                         \
	/* reports */                                                                                                  \
	X(REPORT_ROW, "report-row", "trouble in the middle of what a report tells")                                    \
	X(REPORT_WRITE, "report-write", "a write to a file of the report fails")                                       \
	X(REPORT_ZSTD, "report-zstd", "the end of a compressed file cannot be made")                                   \
	X(REPORT_FSYNC, "report-fsync", "fsync of a file fails")                                                       \
	X(REPORT_CLOSE, "report-close", "close of a file fails")                                                       \
	X(REPORT_RENAME, "report-rename", "a file cannot take its name")                                               \
	X(REPORT_SYNC, "report-sync", "fsync of a directory fails")                                                    \
	X(REPORT_SWAP, "report-swap", "the directory cannot take its name")                                            \
	X(STDOUT, "stdout", "a write to stdout fails")

#define FAULT_ENUM(id, word, what) FAULT_##id,
enum fault_point { FAULT_POINTS(FAULT_ENUM) FAULT_POINT_COUNT };
#undef FAULT_ENUM

#ifdef FENCEPOST_FAULTS

/* Counts a pass of the point, from any thread. Whether it fails this time. */
bool fault_fires(enum fault_point point);

/* Arms the faults that words names. -1 where words are not understood. Before any thread is started. */
int fault_arm(const char *words, struct trouble *t);

/*
 * The armed faults that never fired, one a call: true with words, and whether it should have; false at the end. Begin
 * with *at 0.
 */
bool fault_missed(int *at, bool *should, struct trouble *t);

#define FAULT(id) fault_fires(FAULT_##id)
#else
#define FAULT(id) ((void)FAULT_##id, false)
#endif

#endif
