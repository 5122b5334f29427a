/* keyprefix: keys come in runs of one prefix, so the latest is tried first. */
#include "sql/keyprefix.h"

#include <string.h>

void key_prefixes_note(struct key_prefixes *prefixes, const void *key, size_t size)
{
	size_t prefix = key_format_prefix(prefixes->format);

	if (!prefix || !key_format_has_prefix(prefixes->format, key, size))
		return;
	if (prefixes->count && memcmp(prefixes->bytes[prefixes->latest], key, prefix) == 0)
		return;
	for (size_t i = 0; i < prefixes->count; i++) {
		if (memcmp(prefixes->bytes[i], key, prefix) != 0)
			continue;
		prefixes->latest = i;
		return;
	}
	if (prefixes->count == KEY_PREFIXES_MOST) {
		prefixes->more = true;
		return;
	}
	prefixes->latest = prefixes->count++;
	memcpy(prefixes->bytes[prefixes->latest], key, prefix);
}
