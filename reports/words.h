/*
 * words: numbers, times and foreign text as a person reads them, the same in every locale and time zone.
 */
#ifndef REPORTS_WORDS_H
#define REPORTS_WORDS_H

#include <stdint.h>

enum { WORDS_ROOM = 40 };

/*
 * RFC 3339, UTC, from microseconds since 1970: "2026-11-30T02:30:00.000000Z"; the nearest it can say beyond the years 0
 * to 9999. Returns out of WORDS_ROOM bytes.
 */
const char *words_time(int64_t us, char *out);

/* With thousands separators: "-1,284"; UNKNOWN is "unknown". Returns out, which has WORDS_ROOM bytes. */
const char *words_number(int64_t number, char *out);

/* A number followed by one or many: "1 record", "2,031 records". Returns out, which has WORDS_ROOM + 24 bytes. */
const char *words_count(int64_t number, const char *one, const char *many, char *out);

/*
 * part of whole in percent with one digit: "10.2 %"; not 100.0 % nor 0.0 % unless it is so. Returns out of WORDS_ROOM
 * bytes.
 */
const char *words_percent(int64_t part, int64_t whole, char *out);

/* The text on one line, safe on a screen (sql/keytext.h), but with its backslashes as they are. The caller frees. */
char *words_safe(const char *text);

/* The text as one word of a shell. The caller frees. */
char *words_shell(const char *text);

#endif
