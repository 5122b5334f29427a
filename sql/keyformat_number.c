/* keyformat_number: integers of a fixed width, and doubles. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/keyformat_part.h"

/* --- integers ----------------------------------------------------------------------------------------------------- */

void keyformat_add_decimal(int64_t value, struct buffer *out)
{
	char text[24];
	int length = snprintf(text, sizeof(text), "%" PRId64, value);

	buffer_add(out, text, (size_t)length);
}

/* Canonical decimal alone: no sign but a minus, no leading zero, no "-0". */
static bool read_decimal(const uint8_t *in, size_t size, uint64_t most, int64_t *value)
{
	bool minus = size && in[0] == '-';
	uint64_t limit = most + minus, number = 0;

	in += minus;
	size -= minus;
	if (!size || (in[0] == '0' && (size > 1 || minus)))
		return false;
	for (size_t i = 0; i < size; i++) {
		unsigned digit = in[i] - (unsigned)'0';

		if (digit > 9 || number > (limit - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*value = (int64_t)(minus ? 0 - number : number);
	return true;
}

bool keyformat_read_decimal(const uint8_t *in, size_t size, int64_t *value)
{
	return read_decimal(in, size, INT64_MAX, value);
}

/* Byte i of a number of that width, counted from its highest, in the order of the bytes. */
static size_t place(size_t i, size_t width, bool little)
{
	return little ? width - 1 - i : i;
}

static int render_int(const uint8_t *in, size_t width, bool little, struct buffer *out)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < width; i++)
		bits = bits << 8 | in[place(i, width, little)];
	keyformat_add_decimal(width == 4 ? (int64_t)(int32_t)(uint32_t)bits : (int64_t)bits, out);
	return 1;
}

static int parse_int(const uint8_t *in, size_t size, size_t width, bool little, struct buffer *out)
{
	uint8_t bytes[8];
	int64_t value;

	if (!read_decimal(in, size, width == 4 ? INT32_MAX : INT64_MAX, &value))
		return 0;
	for (size_t i = 0; i < width; i++)
		bytes[place(i, width, little)] = (uint8_t)((uint64_t)value >> 8 * (width - 1 - i));
	buffer_add(out, bytes, width);
	return 1;
}

#define INTEGER(name, width, little)                                                                               \
	int keyformat_render_##name(const uint8_t *in, size_t size, struct buffer *out)                            \
	{                                                                                                          \
		return size == (width) && render_int(in, width, little, out);                                      \
	}                                                                                                          \
	int keyformat_parse_##name(const uint8_t *in, size_t size, struct buffer *out)                             \
	{                                                                                                          \
		return parse_int(in, size, width, little, out);                                                    \
	}

INTEGER(int32, 4, false)
INTEGER(int64, 8, false)
INTEGER(int32_le, 4, true)
INTEGER(int64_le, 8, true)

/* --- double ------------------------------------------------------------------------------------------------------- */

enum { DIGITS_SURE = 15, DIGITS_MOST = 17, DOUBLE_TEXT = 40 };

/* The digits of a number, of which 0.d1d2d3... times ten to the point is the value; no zero ends them. */
struct digits {
	char digit[DIGITS_MOST + 1];
	int count, point;
};

/*
 * One more in the last place. Below a power of two doubles lie twice as close as above it: there the nearest decimal
 * may read back as another double, and the next one above as this.
 */
static bool raise(char *text)
{
	char *at = strchr(text, 'e');

	while (at-- > text) {
		if (*at == '.')
			continue;
		if (*at < '9') {
			++*at;
			return true;
		}
		*at = '0';
	}
	return false;
}

static bool try_digits(double value, int count, struct digits *d)
{
	char text[DOUBLE_TEXT];
	const char *exponent;

	snprintf(text, sizeof(text), "%.*e", count - 1, value);
	if (strtod(text, NULL) != value && (count <= DIGITS_SURE || !raise(text) || strtod(text, NULL) != value))
		return false;
	exponent = strchr(text, 'e');
	d->count = 0;
	for (const char *c = text; c < exponent; c++)
		if (*c != '.')
			d->digit[d->count++] = *c;
	while (d->count > 1 && d->digit[d->count - 1] == '0')
		d->count--;
	d->point = (int)strtol(exponent + 1, NULL, 10) + 1;
	return true;
}

/*
 * The fewest digits that read back, of a number above 0. Of a normal number up to 15 show themselves when 15 are asked
 * for; those of a subnormal one, which has fewer bits, are looked for from the first.
 */
static void shortest(double value, struct digits *d)
{
	int count = isnormal(value) ? DIGITS_SURE : 1;

	while (!try_digits(value, count, d) && count < DIGITS_MOST)
		count++;
}

static void add_zeros(int count, struct buffer *out)
{
	for (int i = 0; i < count; i++)
		buffer_add(out, "0", 1);
}

/* Number::toString of ECMA-262: plain where the point lies in (-6, 21], else with an exponent. */
static void add_digits(const struct digits *d, struct buffer *out)
{
	size_t count = (size_t)d->count;

	if (d->count <= d->point && d->point <= 21) {
		buffer_add(out, d->digit, count);
		add_zeros(d->point - d->count, out);
	} else if (0 < d->point && d->point <= 21) {
		buffer_add(out, d->digit, (size_t)d->point);
		buffer_add(out, ".", 1);
		buffer_add(out, d->digit + d->point, count - (size_t)d->point);
	} else if (-6 < d->point && d->point <= 0) {
		buffer_add(out, "0.", 2);
		add_zeros(-d->point, out);
		buffer_add(out, d->digit, count);
	} else {
		char exponent[8];
		int length = snprintf(exponent, sizeof(exponent), "e%+d", d->point - 1);

		buffer_add(out, d->digit, 1);
		if (count > 1)
			buffer_add(out, ".", 1);
		buffer_add(out, d->digit + 1, count - 1);
		buffer_add(out, exponent, (size_t)length);
	}
}

static bool has_text(double value)
{
	return isfinite(value) && (value != 0 || !signbit(value));
}

static void add_double(double value, struct buffer *out)
{
	struct digits d = { .digit = "0", .count = 1, .point = 1 };

	if (value < 0)
		buffer_add(out, "-", 1);
	if (value != 0)
		shortest(fabs(value), &d);
	add_digits(&d, out);
}

int keyformat_render_double(const uint8_t *in, size_t size, struct buffer *out)
{
	uint64_t bits = 0;
	double value;

	if (size != sizeof(value))
		return 0;
	for (size_t i = 0; i < size; i++)
		bits = bits << 8 | in[i];
	memcpy(&value, &bits, sizeof(value));
	if (!has_text(value))
		return 0;
	add_double(value, out);
	return 1;
}

/* Canonical is what would be written. The text is read as the longest that could be, and compared. */
int keyformat_parse_double(const uint8_t *in, size_t size, struct buffer *out)
{
	char text[DOUBLE_TEXT];
	size_t before = out->size;
	uint64_t bits;
	uint8_t bytes[8];
	double value;
	bool same;

	if (!size || size >= sizeof(text) || strspn(memcpy(text, in, size), "0123456789+-.e") < size)
		return 0;
	text[size] = '\0';
	value = strtod(text, NULL);
	if (!has_text(value))
		return 0;
	add_double(value, out);
	same = out->size - before == size && !memcmp(out->data + before, in, size);
	out->size = before;
	memcpy(&bits, &value, sizeof(bits));
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(bits >> 8 * (7 - i));
	buffer_add(out, bytes, sizeof(bytes));
	return same;
}
