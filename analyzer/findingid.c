/*
 * findingid: every part goes in as its length, 64 bits little endian, and its bytes; an absent one as the length 2^64 -
 * 1.
 */
#include "analyzer/findingid.h"

#include <stdio.h>

void findingid_begin(struct findingid *id)
{
	XXH3_128bits_reset(&id->state);
}

void findingid_add(struct findingid *id, const void *bytes, size_t size)
{
	uint64_t length = bytes ? size : UINT64_MAX;
	uint8_t le[8];

	for (int i = 0; i < 8; i++)
		le[i] = (uint8_t)(length >> (8 * i));
	XXH3_128bits_update(&id->state, le, sizeof(le));
	if (bytes && size)
		XXH3_128bits_update(&id->state, bytes, size);
}

void findingid_end(struct findingid *id, char text[FINDINGID_ROOM])
{
	XXH128_hash_t hash = XXH3_128bits_digest(&id->state);

	snprintf(text, FINDINGID_ROOM, "%016llx%016llx", (unsigned long long)hash.high64,
		 (unsigned long long)hash.low64);
}
