/* The strict reading of stored numbers. */
#include "sql/fencefield.h"

#include <stdbool.h>

#include "sql/run.h"

/* From here on a double, which is what a Lua number is, skips integers. */
#define INEXACT_FROM (UINT64_C(1) << 53)

const char *fencefield_word(enum fencefield state)
{
	static const char *const words[] = {
#define X(name, word) [FENCEFIELD_##name] = word,
		FENCEFIELD_STATES(X)
#undef X
	};

	return words[state];
}

/* Reads digits alone. The magnitude is at most limit, else OVERFLOW. */
static enum fencefield read_digits(const char *text, size_t len, uint64_t limit, uint64_t *magnitude)
{
	uint64_t m = 0;
	bool over = false;

	if (!len)
		return FENCEFIELD_NOT_DECIMAL;
	for (size_t i = 0; i < len; i++) {
		unsigned digit = (unsigned char)text[i] - (unsigned)'0';

		if (digit > 9)
			return FENCEFIELD_NOT_DECIMAL;
		over = over || m > (limit - digit) / 10;
		m = m * 10 + digit;
	}
	if (len > 1 && text[0] == '0')
		return FENCEFIELD_LEADING_ZERO;
	if (over)
		return FENCEFIELD_OVERFLOW;
	*magnitude = m;
	return m < INEXACT_FROM ? FENCEFIELD_OK : FENCEFIELD_INEXACT;
}

static enum fencefield read_number(const char *text, size_t len, bool may_be_negative, int64_t *value)
{
	bool negative, sign;
	uint64_t magnitude = 0;
	enum fencefield state;

	*value = UNKNOWN;
	if (!text)
		return FENCEFIELD_MISSING;
	if (!len)
		return FENCEFIELD_EMPTY;
	negative = text[0] == '-';
	sign = negative || text[0] == '+';
	/* The lowest int64 stands for UNKNOWN, so that it counts as an overflow here. */
	state = read_digits(text + sign, len - sign, INT64_MAX, &magnitude);
	if (sign && state != FENCEFIELD_NOT_DECIMAL && !(negative && may_be_negative))
		return FENCEFIELD_SIGNED;
	if (state != FENCEFIELD_OK && state != FENCEFIELD_INEXACT)
		return state;
	if (negative && !magnitude)
		return FENCEFIELD_LEADING_ZERO;
	*value = negative ? -(int64_t)magnitude : (int64_t)magnitude;
	return state;
}

enum fencefield fencefield_read(const char *text, size_t len, int64_t *value)
{
	return read_number(text, len, false, value);
}

enum fencefield fencefield_read_epoch(const char *text, size_t len, int64_t *value)
{
	return read_number(text, len, true, value);
}
