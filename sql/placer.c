/* placer: its text, and the partition of one key. */
#include "sql/placer.h"

#include <stdio.h>
#include <string.h>

bool placer_parse(const char *text, struct placer *placer)
{
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);

	placer->part = KEYPART_WHOLE;
	if (slash && !keypart_by_word(slash + 1, strlen(slash + 1), &placer->part))
		return false;
	placer->partitioner = partitioner_by_name(text, len);
	return placer->partitioner != NULL;
}

void placer_text(const struct placer *placer, char *out)
{
	bool whole = placer->part == KEYPART_WHOLE;

	snprintf(out, PLACER_TEXT, "%s%s%s", placer->partitioner->name, whole ? "" : "/",
		 whole ? "" : keypart_word(placer->part));
}

int32_t placer_partition(const struct placer *placer, const void *key, size_t len, int32_t n)
{
	uint32_t dividend;

	return placer_dividend(placer, key, len, &dividend) ? (int32_t)(dividend % (uint32_t)n) : -1;
}
