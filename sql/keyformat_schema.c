/* keyformat_schema: what Avro and Protobuf serializers write for a key of one string or one long, behind the prefix. */
#include <string.h>

#include "sql/keyformat_part.h"

enum { VARINT_MOST = 10, FIELD_1_VARINT = 0x08, FIELD_1_BYTES = 0x0a };

static void add_varint(uint64_t value, struct buffer *out)
{
	for (;;) {
		uint8_t byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));

		buffer_add(out, &byte, 1);
		if (value <= 0x7f)
			return;
		value >>= 7;
	}
}

/* How many bytes a varint takes at in; 0 where it is cut short, longer than it need be, or above 64 bits. */
static size_t read_varint(const uint8_t *in, size_t size, uint64_t *value)
{
	*value = 0;
	for (size_t i = 0; i < size && i < VARINT_MOST; i++) {
		uint64_t bits = in[i] & 0x7f;

		if (i == VARINT_MOST - 1 && bits > 1)
			return 0;
		*value |= bits << 7 * i;
		if (!(in[i] & 0x80))
			return i && !in[i] ? 0 : i + 1;
	}
	return 0;
}

static uint64_t zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

static int64_t unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1 ^ (value & 1 ? UINT64_MAX : 0));
}

/* --- Avro --------------------------------------------------------------------------------------------------------- */

int keyformat_render_avro_string(const uint8_t *in, size_t size, struct buffer *out)
{
	uint64_t length;
	size_t at = read_varint(in, size, &length);

	if (!at || length != (uint64_t)(size - at) << 1)
		return 0;
	buffer_add(out, in + at, size - at);
	return 1;
}

int keyformat_parse_avro_string(const uint8_t *in, size_t size, struct buffer *out)
{
	add_varint((uint64_t)size << 1, out);
	buffer_add(out, in, size);
	return 1;
}

int keyformat_render_avro_long(const uint8_t *in, size_t size, struct buffer *out)
{
	uint64_t value;
	size_t at = read_varint(in, size, &value);

	if (!at || at != size)
		return 0;
	keyformat_add_decimal(unzigzag(value), out);
	return 1;
}

int keyformat_parse_avro_long(const uint8_t *in, size_t size, struct buffer *out)
{
	int64_t value;

	if (!keyformat_read_decimal(in, size, &value))
		return 0;
	add_varint(zigzag(value), out);
	return 1;
}

/* --- Protobuf ----------------------------------------------------------------------------------------------------- */

/* A message of field 1 alone. Without it, it is empty: a default is not written. */
int keyformat_render_protobuf_string(const uint8_t *in, size_t size, struct buffer *out)
{
	uint64_t length;
	size_t at;

	if (!size)
		return 1;
	at = in[0] == FIELD_1_BYTES ? read_varint(in + 1, size - 1, &length) : 0;
	if (!at || !length || length != size - 1 - at)
		return 0;
	buffer_add(out, in + 1 + at, size - 1 - at);
	return 1;
}

int keyformat_parse_protobuf_string(const uint8_t *in, size_t size, struct buffer *out)
{
	const uint8_t tag = FIELD_1_BYTES;

	if (!size)
		return 1;
	buffer_add(out, &tag, 1);
	add_varint(size, out);
	buffer_add(out, in, size);
	return 1;
}

int keyformat_render_protobuf_long(const uint8_t *in, size_t size, struct buffer *out)
{
	uint64_t value = 0;
	size_t at = size && in[0] == FIELD_1_VARINT ? read_varint(in + 1, size - 1, &value) : 0;

	if (size && (!at || !value || at != size - 1))
		return 0;
	keyformat_add_decimal((int64_t)value, out);
	return 1;
}

int keyformat_parse_protobuf_long(const uint8_t *in, size_t size, struct buffer *out)
{
	const uint8_t tag = FIELD_1_VARINT;
	int64_t value;

	if (!keyformat_read_decimal(in, size, &value))
		return 0;
	if (!value)
		return 1;
	buffer_add(out, &tag, 1);
	add_varint((uint64_t)value, out);
	return 1;
}
