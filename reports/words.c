/* words: numbers, times and foreign text for people. */
#include "reports/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sql/keytext.h"
#include "sql/mem.h"
#include "sql/run.h"

/* RFC 3339 has four digits for the year. Seconds from 1970 to the years 0 and 10000, times a million. */
static const int64_t year_0 = INT64_C(-62167219200000000), year_10000 = INT64_C(253402300800000000);

const char *words_time(int64_t us, char *out)
{
	int64_t fraction = us % 1000000;
	time_t seconds = (time_t)(us / 1000000 - (fraction < 0));
	struct tm tm;

	if (fraction < 0)
		fraction += 1000000;
	if (us < year_0 || us >= year_10000 || !gmtime_r(&seconds, &tm))
		snprintf(out, WORDS_ROOM, "%s", us < 0 ? "0000-01-01T00:00:00.000000Z" : "9999-12-31T23:59:59.999999Z");
	else
		snprintf(out, WORDS_ROOM, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", tm.tm_year + 1900,
			 (tm.tm_mon + 1) % 100, tm.tm_mday % 100, tm.tm_hour % 100, tm.tm_min % 100, tm.tm_sec % 100,
			 (int)fraction);
	return out;
}

const char *words_number(int64_t number, char *out)
{
	char digits[24];
	size_t length, at = 0;
	const char *from = digits;

	if (number == UNKNOWN) {
		snprintf(out, WORDS_ROOM, "unknown");
		return out;
	}
	snprintf(digits, sizeof(digits), "%lld", (long long)number);
	if (*from == '-')
		out[at++] = *from++;
	length = strlen(from);
	for (size_t i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = from[i];
	}
	out[at] = '\0';
	return out;
}

const char *words_count(int64_t number, const char *one, const char *many, char *out)
{
	char digits[WORDS_ROOM];

	snprintf(out, WORDS_ROOM + 24, "%s %.23s", words_number(number, digits), number == 1 ? one : many);
	return out;
}

const char *words_percent(int64_t part, int64_t whole, char *out)
{
	int64_t tenths;

	if (part == UNKNOWN || whole == UNKNOWN || whole <= 0 || part < 0) {
		snprintf(out, WORDS_ROOM, "unknown share");
		return out;
	}
	if (part >= whole) {
		snprintf(out, WORDS_ROOM, "100 %%");
		return out;
	}
	tenths = (int64_t)(1000.0L * (long double)part / (long double)whole + 0.5L);
	if (tenths == 1000)
		tenths = 999;
	if (!tenths && part)
		snprintf(out, WORDS_ROOM, "less than 0.1 %%");
	else
		snprintf(out, WORDS_ROOM, "%d.%d %%", (int)(tenths / 10), (int)(tenths % 10));
	return out;
}

char *words_safe(const char *text)
{
	char *safe = xalloc(KEYTEXT_ROOM(strlen(text))), *to = safe;

	while (*text) {
		size_t length = strcspn(text, "\\");

		to += keytext_write(text, length, to);
		text += length;
		if (*text)
			*to++ = *text++;
	}
	*to = '\0';
	return safe;
}

char *words_shell(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-+:@%,";
	char *word = xalloc(4 * strlen(text) + 3), *to = word;

	if (*text && text[strspn(text, plain)] == '\0')
		return strcpy(word, text);
	*to++ = '\'';
	for (; *text; text++) {
		if (*text == '\'')
			to = stpcpy(to, "'\\''");
		else
			*to++ = *text;
	}
	strcpy(to, "'");
	return word;
}
