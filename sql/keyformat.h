/*
 * Key formats: the bytes of a record key <-> a text, which stands for {key} in a Redis key, and by which the same key
 * is known again in another topic that writes it in another format.
 *
 *     raw        the bytes as they are, none included
 *     int32      4 bytes, big-endian, two's complement  <->  decimal: "-7"; not "007", "+7", "-0"
 *     int64      8 bytes, likewise; int32-le and int64-le: little-endian
 *     double     8 bytes, IEEE 754 binary64, big-endian  <->  the shortest decimal that reads back as the same number,
 *                written as ECMAScript writes numbers: 42, -0.5, 1e+21, 1e-7. NaN, infinities and -0 have no text that
 *                programs agree on, and so none here
 *     uuid       16 bytes  <->  36 lower-case characters; uuid-upper: 36 upper-case characters <-> the lower-case ones
 *     hex        bytes  <->  lower-case hexadecimal
 *     base64     bytes  <->  RFC 4648 with padding; the bits that padding leaves over are 0
 *     json       a JSON string  <->  its content: "42" (four bytes) <-> 42. The string must be written as RFC 8785
 *                writes it: UTF-8, with \" \\ \b \f \n \r \t and \u00xx (lower-case) for the other controls, and no
 *                other escape. A number or an object is no string: it is its own text, so raw is its format
 *     line       text and a newline  <->  the text, which has none
 *
 * What a schema registry's serializers write has a prefix before it, which names the schema and is not in the text:
 *
 *     confluent-*    00 and a schema id of 4 bytes; of Protobuf, 00 besides: the schema's first message
 *     glue-*         03, 00 (not compressed) and a UUID of 16 bytes. Compressed keys (03 05) have no text
 *       avro-string    the length as an Avro long, and the text
 *       avro-long      zigzag, 7 bits a byte, the lowest first  <->  decimal
 *       protobuf-string, protobuf-long    field 1 alone: string or bytes; int64. Empty or 0, it is left out
 *       json           as above
 *       raw            whatever follows the prefix: JSON numbers
 *
 * Each format is a bijection between some byte strings (those behind one prefix) and some texts: what has no canonical
 * text is not rendered, what is not canonical does not parse, and whatever parses renders to itself again.
 *
 * Sources: RFC 8259 and 8785; ECMA-262, Number::toString; the Avro specification, "Binary Encoding"; the Protocol
 * Buffers encoding guide; Confluent's "Wire format"; AWS Glue's GlueSchemaRegistrySerializer.
 */
#ifndef SQL_KEYFORMAT_H
#define SQL_KEYFORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/buffer.h"

enum key_prefix { KEY_PREFIX_NONE, KEY_PREFIX_CONFLUENT, KEY_PREFIX_MESSAGE, KEY_PREFIX_GLUE };
enum { KEY_PREFIX_MOST = 18 }; /* bytes of the longest */

/* X(NAME, word, prefix, what a key of it is) */
#define KEY_FORMATS(X)                                                                                             \
	X(RAW, "raw", NONE, "plain bytes")                                                                         \
	X(INT32, "int32", NONE, "int32 big-endian")                                                                \
	X(INT64, "int64", NONE, "int64 big-endian")                                                                \
	X(INT32_LE, "int32-le", NONE, "int32 little-endian")                                                       \
	X(INT64_LE, "int64-le", NONE, "int64 little-endian")                                                       \
	X(DOUBLE, "double", NONE, "double big-endian")                                                             \
	X(UUID, "uuid", NONE, "the 16 bytes of a UUID")                                                            \
	X(UUID_UPPER, "uuid-upper", NONE, "upper-case UUID text")                                                  \
	X(HEX, "hex", NONE, "bytes that the other topic writes as hexadecimal text")                                    \
	X(BASE64, "base64", NONE, "bytes that the other topic writes as base64 text")                                   \
	X(JSON, "json", NONE, "JSON-quoted text")                                                                  \
	X(LINE, "line", NONE, "text with a newline")                                                               \
	X(CONFLUENT_AVRO_STRING, "confluent-avro-string", CONFLUENT, "Avro string behind a Confluent schema id")   \
	X(CONFLUENT_AVRO_LONG, "confluent-avro-long", CONFLUENT, "Avro long behind a Confluent schema id")         \
	X(CONFLUENT_JSON, "confluent-json", CONFLUENT, "JSON string behind a Confluent schema id")                 \
	X(CONFLUENT_RAW, "confluent-raw", CONFLUENT, "plain bytes behind a Confluent schema id")                   \
	X(CONFLUENT_PROTOBUF_STRING, "confluent-protobuf-string", MESSAGE,                                         \
	  "Protobuf string behind a Confluent schema id")                                                          \
	X(CONFLUENT_PROTOBUF_LONG, "confluent-protobuf-long", MESSAGE, "Protobuf int64 behind a Confluent schema id") \
	X(GLUE_AVRO_STRING, "glue-avro-string", GLUE, "Avro string behind an AWS Glue header")                     \
	X(GLUE_AVRO_LONG, "glue-avro-long", GLUE, "Avro long behind an AWS Glue header")                           \
	X(GLUE_JSON, "glue-json", GLUE, "JSON string behind an AWS Glue header")                                   \
	X(GLUE_RAW, "glue-raw", GLUE, "plain bytes behind an AWS Glue header")

#define KEY_FORMAT_ENUM(name, word, prefix, what) KEY_FORMAT_##name,
enum key_format { KEY_FORMATS(KEY_FORMAT_ENUM) KEY_FORMAT_COUNT };

const char *key_format_word(enum key_format format);
const char *key_format_what(enum key_format format);

/* The format of that word; false where there is none. */
bool key_format_by_word(const char *word, enum key_format *format);

enum key_prefix key_format_prefix_kind(enum key_format format);

/* How many bytes of a key are its prefix. */
size_t key_format_prefix(enum key_format format);

/* Whether key[0..size) begins with a prefix of the format's kind; true of every key where the format has none. */
bool key_format_has_prefix(enum key_format format, const void *key, size_t size);

/*
 * Appends the text of key[0..size) to out. 1; or 0 where the key has none, and what out then holds beyond its old
 * size is junk.
 */
int keyformat_render(enum key_format format, const void *key, size_t size, struct buffer *out);

/*
 * Appends the key that renders to text[0..size) to out: without its prefix, which the text does not have. 1; or 0
 * where there is none, and out is as junk as above.
 */
int keyformat_parse(enum key_format format, const void *text, size_t size, struct buffer *out);

#endif
