/* CRC16 a nibble at a time, and the hash tag. */
#include "sql/slot.h"

#include <stdint.h>
#include <string.h>

static uint16_t crc16(const uint8_t *bytes, size_t len)
{
	static const uint16_t table[16] = {
		0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
		0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef,
	};
	uint16_t crc = 0;

	for (size_t i = 0; i < len; i++) {
		crc = (uint16_t)(crc << 4 ^ table[crc >> 12 ^ bytes[i] >> 4]);
		crc = (uint16_t)(crc << 4 ^ table[crc >> 12 ^ (bytes[i] & 15)]);
	}
	return crc;
}

int redis_slot(const void *key, size_t len)
{
	const uint8_t *start = key, *open = len ? memchr(start, '{', len) : NULL;
	const uint8_t *close = open ? memchr(open, '}', len - (size_t)(open - start)) : NULL;

	if (close && close > open + 1)
		return crc16(open + 1, (size_t)(close - open - 1)) % REDIS_SLOTS;
	return crc16(start, len) % REDIS_SLOTS;
}
