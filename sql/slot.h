/* Redis Cluster's hash slots (Redis Cluster specification, "Key distribution model"). */
#ifndef SQL_SLOT_H
#define SQL_SLOT_H

#include <stddef.h>

#define REDIS_SLOTS 16384

/*
 * The slot of a Redis key: CRC16 (XMODEM: polynomial 0x1021, from 0) modulo 16384 of its hash tag, the bytes between
 * the first '{' and the next '}', where there is one and it is not empty; else of the whole key.
 */
int redis_slot(const void *key, size_t len);

#endif
