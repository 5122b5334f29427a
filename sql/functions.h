/*
 * The functions that SQL on an index can call. Keys are BLOB or TEXT, and a TEXT key counts as its UTF-8 bytes.
 *
 *     murmur2(key)                  Kafka's murmur2 as Java shows it, a signed 32-bit integer: murmur2('') = 275646681
 *     home_partition(key, n)        toPositive(murmur2(key)) % n
 *     partition_by(name, key, n)    the same by another partitioner, or over a part of the key: 'crc32',
 *                                   'murmur2/windowed' (sql/placer.h); NULL where the key has no home
 *     fence_verdict(home, current_epoch, fence_partition, fence_offset, record_partition, record_offset, caller_epoch)
 *                                   APPLY, REEMIT, SKIP, REBASE, FENCE or DLQ, exactly as worker and Lua script decide.
 *                                   The first three after home are what Redis holds, integers or the stored text: NULL
 *                                   means absent there. NULL where another is NULL, or where the script would fail.
 *     redis_slot(key)               the Redis Cluster slot of a Redis key
 *     xxh3(x)                       the sample's hash of a key (sql/keyhash.h)
 *     key_text(key)                 its safe text (sql/keytext.h)
 *     the_key(key), of_key(key)     how a sentence begins with it, or speaks of something of it: "The key user-1",
 *                                   "of key user-1"; "The empty key", "of the empty key"
 *     key_hex(key)                  its lower-case hex
 *     key_shell(key)                one word for a shell (sql/keytext.h)
 *     key_utf8(key)                 itself as TEXT where it is UTF-8, else NULL
 *     key_parse(text)               the BLOB that a safe text stands for
 *     key_part(part, key)           the part of the key (sql/keypart.h): 'windowed'; NULL where it has none
 *     key_decode(format, key)       what stands for {key} in its Redis key (sql/keyformat.h); NULL where nothing can
 *
 *     select home_partition(x'757365722d31', 12);    -- 'user-1'
 *
 * All are deterministic and innocuous, and give NULL for NULL where nothing else is said. A value of the wrong type, a
 * partition count below 1 or an unknown partitioner is an error of the statement.
 */
#ifndef SQL_FUNCTIONS_H
#define SQL_FUNCTIONS_H

#include <sqlite3.h>

/* Registers them all on a connection. An SQLite result code. */
int functions_register(sqlite3 *db);

#endif
