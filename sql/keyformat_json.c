/* keyformat_json: JSON strings, as RFC 8785 writes them. */
#include <string.h>

#include "sql/keyformat_part.h"
#include "sql/utf8.h"

/* The characters that have an escape of two, and the letters of those. */
static const char json_plain[] = "\"\\\b\f\n\r\t";
static const char json_letter[] = "\"\\bfnrt";

/*
 * A text becomes a JSON string as RFC 8785 writes it: quotes, backslashes and controls are escaped, in the shortest
 * way, nothing else.
 */
int keyformat_parse_json(const uint8_t *in, size_t size, struct buffer *out)
{
	if (!utf8_valid(in, size))
		return 0;
	buffer_add(out, "\"", 1);
	for (size_t i = 0; i < size; i++) {
		const char *found = in[i] ? strchr(json_plain, in[i]) : NULL;

		if (found) {
			buffer_add(out, "\\", 1);
			buffer_add(out, &json_letter[found - json_plain], 1);
		} else if (in[i] < 0x20) {
			buffer_add(out, "\\u00", 4);
			keyformat_add_hex(in[i], out);
		} else {
			buffer_add(out, &in[i], 1);
		}
	}
	buffer_add(out, "\"", 1);
	return 1;
}

/* The escape at in, behind its backslash: its length and byte, or 0 where it is none or not the canonical one. */
static size_t json_escape(const uint8_t *in, size_t size, uint8_t *byte)
{
	const char *found = size && in[0] ? strchr(json_letter, in[0]) : NULL;

	if (found) {
		*byte = (uint8_t)json_plain[found - json_letter];
		return 1;
	}
	if (size < 5 || memcmp(in, "u00", 3) || keyformat_nibble(in[3]) < 0 || keyformat_nibble(in[4]) < 0)
		return 0;
	*byte = (uint8_t)(keyformat_nibble(in[3]) << 4 | keyformat_nibble(in[4]));
	if (*byte >= 0x20 || (*byte && strchr(json_plain, *byte)))
		return 0;
	return 5;
}

int keyformat_render_json(const uint8_t *in, size_t size, struct buffer *out)
{
	if (size < 2 || in[0] != '"' || in[size - 1] != '"' || !utf8_valid(in, size))
		return 0;
	for (size_t i = 1; i < size - 1; i++) {
		uint8_t byte = in[i];

		if (byte == '\\') {
			size_t length = json_escape(in + i + 1, size - 2 - i, &byte);

			if (!length)
				return 0;
			i += length;
		} else if (byte == '"' || byte < 0x20) {
			return 0;
		}
		buffer_add(out, &byte, 1);
	}
	return 1;
}
