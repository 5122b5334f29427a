/* What the files of keyformat share: one pair of functions a format, and helpers. Theirs alone. */
#ifndef SQL_KEYFORMAT_PART_H
#define SQL_KEYFORMAT_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/buffer.h"

/* Appends to out. 1, or 0 where in has no counterpart. */
typedef int keyformat_convert(const uint8_t *in, size_t size, struct buffer *out);

/* keyformat_number.c */
void keyformat_add_decimal(int64_t value, struct buffer *out);
bool keyformat_read_decimal(const uint8_t *in, size_t size, int64_t *value); /* canonical, of int64 */
keyformat_convert keyformat_render_int32, keyformat_parse_int32, keyformat_render_int64, keyformat_parse_int64,
	keyformat_render_int32_le, keyformat_parse_int32_le, keyformat_render_int64_le, keyformat_parse_int64_le,
	keyformat_render_double, keyformat_parse_double;

/* keyformat_json.c */
keyformat_convert keyformat_render_json, keyformat_parse_json;

/* keyformat_schema.c: what follows a prefix */
keyformat_convert keyformat_render_avro_string, keyformat_parse_avro_string, keyformat_render_avro_long,
	keyformat_parse_avro_long, keyformat_render_protobuf_string, keyformat_parse_protobuf_string,
	keyformat_render_protobuf_long, keyformat_parse_protobuf_long;

/* keyformat.c: lower-case hexadecimal; the value of a digit, or -1. */
void keyformat_add_hex(uint8_t byte, struct buffer *out);
int keyformat_nibble(uint8_t c);

#endif
