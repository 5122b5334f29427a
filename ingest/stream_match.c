/* stream_match: one star is remembered at a time; a later one makes the earlier one's choice final. */
#include "ingest/stream_match.h"

#include <stddef.h>
#include <stdint.h>

struct cursor {
	const uint8_t *at, *end;
};

/* One byte of a set, or the low end of a range. */
static uint8_t set_byte(struct cursor *p)
{
	if (*p->at == '\\' && p->end - p->at >= 2)
		p->at++;
	return *p->at++;
}

/* The set behind "[" against one byte; p moves behind its "]". */
static bool in_set(struct cursor *p, uint8_t byte)
{
	bool not = p->at < p->end && *p->at == '^', found = false;

	p->at += not ;
	while (p->at < p->end && *p->at != ']') {
		bool escaped = *p->at == '\\' && p->end - p->at >= 2;
		uint8_t low = set_byte(p), high = low;

		if (!escaped && p->end - p->at >= 2 && *p->at == '-') {
			p->at++;
			high = *p->at++;
		}
		found |= low <= high ? low <= byte && byte <= high : high <= byte && byte <= low;
	}
	p->at += p->at < p->end;
	return found != not ;
}

/* The pattern's next item, which is no star, against one byte; p moves behind it. */
static bool one_fits(struct cursor *p, uint8_t byte)
{
	uint8_t item = *p->at++;

	if (item == '?')
		return true;
	if (item == '[')
		return in_set(p, byte);
	if (item == '\\' && p->at < p->end)
		item = *p->at++;
	return item == byte;
}

bool stream_glob_fits(struct bytes pattern, struct bytes name)
{
	struct cursor p = { pattern.at, (const uint8_t *)pattern.at + pattern.size };
	const uint8_t *at = name.at, *end = at + name.size, *star_at = NULL, *behind_star = NULL;

	while (at < end || p.at < p.end) {
		if (p.at < p.end && *p.at == '*') {
			behind_star = ++p.at;
			star_at = at;
			continue;
		}
		if (p.at < p.end && at < end && one_fits(&p, *at)) {
			at++;
			continue;
		}
		if (!behind_star || star_at == end)
			return false;
		p.at = behind_star;
		at = ++star_at;
	}
	return true;
}

bool stream_match(const char *pattern, struct bytes name)
{
	size_t size = strlen(pattern);

	if (!stream_is_glob(pattern))
		return size == name.size && !memcmp(pattern, name.at, size);
	return stream_glob_fits((struct bytes){ pattern, size }, name);
}
