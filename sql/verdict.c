/* The fence contract, as it reads and as the Lua script does it. */
#include "sql/verdict.h"

#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/mem.h"

const char *verdict_name(enum verdict verdict)
{
	static const char *const names[VERDICT_COUNT] = {
#define X(name) [VERDICT_##name] = #name,
		VERDICTS(X)
#undef X
	};

	return names[verdict];
}

enum verdict fence_verdict(const struct incoming *in, int64_t current_epoch, const struct fence *fence)
{
	if (in->partition != in->home)
		return VERDICT_DLQ;
	if (in->epoch < current_epoch)
		return VERDICT_FENCE;
	if (!fence)
		return VERDICT_APPLY;
	if (fence->partition != in->partition)
		return VERDICT_REBASE;
	if (in->offset > fence->offset)
		return VERDICT_APPLY;
	return in->offset == fence->offset ? VERDICT_REEMIT : VERDICT_SKIP;
}

/* strtod of the C locale, whatever locale the program is in. */
static double c_strtod(const char *text, char **end)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	double value = c ? strtod_l(text, end, c) : strtod(text, end);

	if (c)
		freelocale(c);
	return value;
}

static bool c_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/*
 * tonumber of Lua 5.1, on a string that ends with a NUL: what strtod takes (hex, exponents, inf and nan included), with
 * space around it. A string with a NUL inside ends there, as it does in Lua.
 */
static bool lua_number(const char *text, double *number)
{
	char *end;

	*number = c_strtod(text, &end);
	if (end == text)
		return false;
	while (c_space(*end))
		end++;
	return !*end;
}

static bool stored_number(const struct stored *stored, double *number)
{
	char small[64], *text = small;
	bool fine;

	/* Longer than any sane number, yet Lua reads it: "000…05". */
	if (stored->len >= sizeof(small))
		text = xalloc(stored->len + 1);
	memcpy(text, stored->data, stored->len);
	text[stored->len] = '\0';
	fine = lua_number(text, number);
	if (text != small)
		free(text);
	return fine;
}

/* The worker passes its integers in decimal, and Lua reads them as doubles. */
static double argument_number(int64_t value)
{
	return (double)value;
}

static bool same_partition(const struct stored *stored, int32_t partition)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%" PRId32, partition);

	return stored->data && stored->len == (size_t)len && !memcmp(stored->data, text, stored->len);
}

int script_verdict(const struct incoming *in, const struct stored_fence *stored, enum verdict *verdict)
{
	double epoch = 0, fence, offset = argument_number(in->offset);

	*verdict = VERDICT_DLQ;
	if (in->partition != in->home)
		return 1;
	if (stored->epoch_wrong_type || (stored->epoch.data && !stored_number(&stored->epoch, &epoch)))
		return 0;
	*verdict = VERDICT_FENCE;
	if (argument_number(in->epoch) < epoch)
		return 1;
	if (stored->state_wrong_type)
		return 0;
	*verdict = VERDICT_APPLY;
	if (!stored->offset.data)
		return 1;
	*verdict = VERDICT_REBASE;
	if (!same_partition(&stored->partition, in->partition))
		return 1;
	if (!stored_number(&stored->offset, &fence))
		return 0;
	*verdict = offset > fence ? VERDICT_APPLY : offset == fence ? VERDICT_REEMIT : VERDICT_SKIP;
	return 1;
}
