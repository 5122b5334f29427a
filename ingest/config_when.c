/* config_when: durations and times as people write them. */
#include "ingest/config.h"

#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* --- durations ---------------------------------------------------------------------------------------------------- */

static const struct unit {
	const char *name;
	int64_t ms;
} units[] = { { "d", 86400000 }, { "h", 3600000 }, { "m", 60000 }, { "s", 1000 }, { "ms", 1 } };

enum { UNIT_COUNT = sizeof(units) / sizeof(units[0]) };

/* The unit whose name is all the letters at text. */
static size_t unit_at(const char *text)
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz"), i = 0;

	while (i < UNIT_COUNT && (strlen(units[i].name) != length || memcmp(units[i].name, text, length)))
		i++;
	return i;
}

int config_duration(const char *text, int64_t *ms)
{
	int64_t total = 0;
	size_t least = 0;

	do {
		int64_t number = 0, part;
		size_t unit;

		if (!is_digit(*text))
			return 0;
		for (; is_digit(*text); text++) {
			if (__builtin_mul_overflow(number, 10, &number) ||
			    __builtin_add_overflow(number, *text - '0', &number))
				return 0;
		}
		unit = unit_at(text);
		if (unit < least || unit >= UNIT_COUNT) /* each unit once, the larger first */
			return 0;
		if (__builtin_mul_overflow(number, units[unit].ms, &part) ||
		    __builtin_add_overflow(total, part, &total))
			return 0;
		text += strlen(units[unit].name);
		least = unit + 1;
	} while (*text);
	*ms = total;
	return 1;
}

/* --- times -------------------------------------------------------------------------------------------------------- */

/* Reads width digits. -1 where they are none. Moves *text behind them. */
static int digits(const char **text, int width)
{
	int number = 0;

	for (int i = 0; i < width; i++, (*text)++) {
		if (!is_digit(**text))
			return -1;
		number = number * 10 + (**text - '0');
	}
	return number;
}

static bool skip(const char **text, const char *valid)
{
	if (!**text || !strchr(valid, **text))
		return false;
	(*text)++;
	return true;
}

/*
 * Days from 1970-01-01 to a date of the Gregorian calendar: whole 400-year eras, then days of a year that begins in
 * March.
 */
static int64_t days_of(int year, int month, int day)
{
	int64_t y = month > 2 ? year : year - 1;
	int64_t era = y / 400, of_era = y - era * 400;
	int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int days_in(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

	return days[month - 1] + (month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
}

static bool parse_date(const char **text, int64_t *days)
{
	int year = digits(text, 4), month, day;

	if (year < 1970 || !skip(text, "-"))
		return false;
	month = digits(text, 2);
	if (month < 1 || month > 12 || !skip(text, "-"))
		return false;
	day = digits(text, 2);
	if (day < 1 || day > days_in(year, month))
		return false;
	*days = days_of(year, month, day);
	return true;
}

static bool parse_minutes(const char **text, int64_t *minutes)
{
	int hour = digits(text, 2), minute;

	if (hour < 0 || hour > 23 || !skip(text, ":"))
		return false;
	minute = digits(text, 2);
	*minutes = hour * 60 + minute;
	return minute >= 0 && minute <= 59;
}

/* Seconds with or without a fraction, of which microseconds count. */
static bool parse_seconds(const char **text, int64_t *us)
{
	int second = digits(text, 2);
	int64_t scale = 100000;

	if (second < 0 || second > 59)
		return false;
	*us = second * INT64_C(1000000);
	if (!skip(text, "."))
		return true;
	if (!is_digit(**text))
		return false;
	for (; is_digit(**text); (*text)++, scale /= 10)
		*us += (**text - '0') * scale;
	return true;
}

static bool parse_zone(const char **text, int64_t *minutes)
{
	bool west = **text == '-';

	*minutes = 0;
	if (skip(text, "Zz"))
		return true;
	if (!skip(text, "+-") || !parse_minutes(text, minutes))
		return false;
	*minutes = west ? -*minutes : *minutes;
	return true;
}

int config_time(const char *text, int64_t *us)
{
	int64_t days, minutes, seconds_us, zone;

	if (!parse_date(&text, &days) || !skip(&text, "Tt ") || !parse_minutes(&text, &minutes) || !skip(&text, ":"))
		return 0;
	if (!parse_seconds(&text, &seconds_us) || !parse_zone(&text, &zone) || *text)
		return 0;
	*us = (days * 1440 + minutes - zone) * INT64_C(60000000) + seconds_us;
	return *us >= 0;
}
