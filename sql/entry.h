/*
 * Ids of stream entries: milliseconds and a sequence number, each an unsigned integer of 64 bits, which Redis writes as
 * "1700000000000-0". In the index an id is 16 bytes, both parts big-endian, so that blobs sort as ids do.
 */
#ifndef SQL_ENTRY_H
#define SQL_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ENTRY_SIZE 16
#define ENTRY_ROOM 42 /* of the text, the final NUL included */

/* Reads "MS-SEQ": decimal digits without sign, each part within 64 bits. */
bool entry_read(const char *text, size_t size, uint8_t id[ENTRY_SIZE]);

/* Writes the text and a NUL. Returns its length without the NUL. */
size_t entry_write(const uint8_t id[ENTRY_SIZE], char text[ENTRY_ROOM]);

/* The milliseconds; INT64_MAX where they are more. */
int64_t entry_ms(const uint8_t id[ENTRY_SIZE]);

#endif
