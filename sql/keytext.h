/*
 * Keys are bytes; people read text. The text form of a key is UTF-8, fits on one line, cannot drive a terminal or
 * reorder what stands beside it, and reads back to exactly the same bytes:
 *
 *     printable UTF-8            itself
 *     backslash                  \\
 *     tab, newline, return       \t \n \r
 *     other ASCII controls       \xNN, two lower-case hex digits, one byte
 *     a byte that is no UTF-8    \xNN
 *     a character that is        \u{N}, its code point in lower-case hex: C1 controls, bidirectional and zero-width
 *       not safe on a screen     formats, line and paragraph separators, tags, noncharacters
 *
 *     user-1         user-1
 *     a\b<ff>        a\\b\xff
 *     abc<U+202E>    abc\u{202e}
 *
 * Reading accepts any case of hex digits, and bytes may be written as \xNN where the text would show the character.
 */
#ifndef SQL_KEYTEXT_H
#define SQL_KEYTEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Room for the text form or the hex of a key of len bytes, the final NUL included. */
#define KEYTEXT_ROOM(len) (4 * (size_t)(len) + 1)
#define KEYHEX_ROOM(len)  (2 * (size_t)(len) + 1)
#define KEYSHELL_ROOM(len) (4 * (size_t)(len) + 4)

/* Writes the text form and a NUL to out, which has KEYTEXT_ROOM(len) bytes. Returns its length without the NUL. */
size_t keytext_write(const void *key, size_t len, char *out);

/*
 * Reads a text form back. out has room for len bytes, which always suffices. 0 with *out_len set; or -1 with *out_len
 * the position in text of the escape that is none.
 */
int keytext_read(const char *text, size_t len, void *out, size_t *out_len);

/* Writes lower-case hex and a NUL to out, which has KEYHEX_ROOM(len) bytes. Returns its length without the NUL. */
size_t keyhex_write(const void *key, size_t len, char *out);

/* Reads hex of either case back; out has room for len / 2 bytes. 0, or -1 with *out_len the position of the fault. */
int keyhex_read(const char *text, size_t len, void *out, size_t *out_len);

/*
 * Writes the key as one word for a POSIX shell, or where it has bytes that a screen must not be given, for bash (a byte
 * 0 no command line can hold), and a NUL to out, which has KEYSHELL_ROOM(len) bytes. Returns its length without the NUL.
 *
 *     user-1      user-1
 *     it's        'it'\''s'
 *     a<ff>'      $'a\xff\''
 */
size_t keyshell_write(const void *key, size_t len, char *out);

/* Whether the key is UTF-8, so that JSON can hold it as a string. */
bool key_is_utf8(const void *key, size_t len);

#endif
