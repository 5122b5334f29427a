/* encoding_pair: one key under every pair of formats, and which pair is the explanation. */
#define XXH_INLINE_ALL
#include "analyzer/encoding_state.h"

#include <stdio.h>
#include <string.h>

#include "sql/keyhash.h"
#include "sql/utf8.h"

static void sample(struct encoding_score *score, const struct encoding_key *key, const struct buffer *as)
{
	struct encoding_sample *s = &score->samples[score->same];

	buffer_add(&s->mine, key->bytes, key->size);
	buffer_add(&s->theirs, as->data, as->size);
}

static void found(struct encoding_score *score, const struct encoding_key *key, const struct encoding_slot *slot,
		  const struct buffer *as)
{
	if (score->same < ENCODING_SAMPLES)
		sample(score, key, as);
	score->same++;
	score->apart += slot->partition != key->partition;
	score->print += (uint64_t)key->hash * 31 + (uint64_t)slot->hash;
	score->binary = score->binary || !utf8_valid(key->bytes, key->size);
	score->their_binary = score->their_binary || !utf8_valid(as->data, as->size);
}

/* Whether the other topic could hold the key in trial->whole, within its sample; then *slot: where it does, or NULL. */
static bool ask(const struct encoding_trial *trial, const struct encoding_key *key, const struct encoding_slot **slot)
{
	int64_t hash;

	if (trial->whole.size == key->size && !memcmp(trial->whole.data, key->bytes, key->size))
		return false;
	hash = key_hash(trial->whole.data, trial->whole.size);
	*slot = encoding_keys_find(trial->keys, hash);
	return hash < trial->keys->threshold;
}

/* The text under a format of the other topic, behind each prefix that its keys have. */
static void try_format(struct encoding_trial *trial, const struct encoding_key *key, enum key_format theirs,
		       struct encoding_score *score)
{
	const struct key_prefixes *prefixes = &trial->keys->prefixes[key_format_prefix_kind(theirs)];
	size_t prefix = key_format_prefix(theirs), count = prefix ? prefixes->count : 1;
	const struct encoding_slot *slot;
	bool compared = false;

	for (size_t i = 0; i < count; i++) {
		buffer_clear(&trial->whole);
		buffer_add(&trial->whole, prefixes->bytes[i], prefix);
		if (!keyformat_parse(theirs, trial->text.data, trial->text.size, &trial->whole))
			return;
		if (!trial->whole.size || !ask(trial, key, &slot))
			continue;
		score->compared += !compared;
		compared = true;
		if (!slot)
			continue;
		found(score, key, slot, &trial->whole);
		return;
	}
}

void encoding_try(struct encoding_trial *trial, const struct encoding_key *key)
{
	if (encoding_keys_find(trial->keys, key->hash))
		return;
	for (int mine = 0; mine < KEY_FORMAT_COUNT; mine++) {
		buffer_clear(&trial->text);
		if (!keyformat_render((enum key_format)mine, key->bytes, key->size, &trial->text))
			continue;
		buffer_add(&trial->text, "", 1); /* so that there is something to point to */
		trial->text.size--;
		for (int theirs = 0; theirs < KEY_FORMAT_COUNT; theirs++)
			try_format(trial, key, (enum key_format)theirs,
				   &trial->score[mine * KEY_FORMAT_COUNT + theirs]);
	}
}

static bool is_one(const struct encoding_score *a, const struct encoding_score *b)
{
	return a->same == b->same && a->print == b->print;
}

int encoding_best(const struct encoding_score *score)
{
	int best = 0;

	for (int i = 1; i < KEY_FORMAT_COUNT * KEY_FORMAT_COUNT; i++)
		if (score[i].same > score[best].same)
			best = i;
	if (score[best].same < ENCODING_SAME_LEAST || score[best].same * 2 < score[best].compared)
		return -1;
	for (int i = 0; i < KEY_FORMAT_COUNT * KEY_FORMAT_COUNT; i++)
		if (score[i].same * 5 > score[best].same * 4 && !is_one(&score[i], &score[best]))
			return -1;
	return best;
}

static void add_text(struct buffer *out, const char *text)
{
	buffer_add(out, text, strlen(text));
}

void encoding_words(enum key_format format, bool binary, const struct buffer *sample, struct buffer *out)
{
	char id[40];

	if (format == KEY_FORMAT_RAW)
		add_text(out, binary ? "plain bytes" : "UTF-8 text");
	else
		add_text(out, key_format_what(format));
	if (key_format_prefix_kind(format) == KEY_PREFIX_CONFLUENT ||
	    key_format_prefix_kind(format) == KEY_PREFIX_MESSAGE) {
		const uint8_t *b = sample->data;
		unsigned long number = (unsigned long)b[1] << 24 | (unsigned long)b[2] << 16 |
				       (unsigned long)b[3] << 8 | b[4];

		snprintf(id, sizeof(id), " (such as %lu)", number);
		add_text(out, id);
	}
	buffer_add(out, "", 1);
}

const char *encoding_serializer(enum key_format format)
{
	switch (format) {
	case KEY_FORMAT_RAW:
		return "StringSerializer";
	case KEY_FORMAT_INT32:
		return "IntegerSerializer";
	case KEY_FORMAT_INT64:
		return "LongSerializer";
	case KEY_FORMAT_DOUBLE:
		return "DoubleSerializer";
	case KEY_FORMAT_JSON:
		return "a JSON serializer (JsonConverter, ksqlDB's KEY_FORMAT='JSON')";
	case KEY_FORMAT_CONFLUENT_AVRO_STRING:
	case KEY_FORMAT_CONFLUENT_AVRO_LONG:
		return "KafkaAvroSerializer, with one schema id for both";
	case KEY_FORMAT_CONFLUENT_JSON:
	case KEY_FORMAT_CONFLUENT_RAW:
		return "KafkaJsonSchemaSerializer, with one schema id for both";
	case KEY_FORMAT_CONFLUENT_PROTOBUF_STRING:
	case KEY_FORMAT_CONFLUENT_PROTOBUF_LONG:
		return "KafkaProtobufSerializer, with one schema id for both";
	case KEY_FORMAT_GLUE_AVRO_STRING:
	case KEY_FORMAT_GLUE_AVRO_LONG:
	case KEY_FORMAT_GLUE_JSON:
	case KEY_FORMAT_GLUE_RAW:
		return "GlueSchemaRegistryKafkaSerializer, with one schema version for both";
	case KEY_FORMAT_INT32_LE:
	case KEY_FORMAT_INT64_LE:
	case KEY_FORMAT_UUID:
	case KEY_FORMAT_UUID_UPPER:
	case KEY_FORMAT_HEX:
	case KEY_FORMAT_BASE64:
	case KEY_FORMAT_LINE:
	case KEY_FORMAT_COUNT:
		break;
	}
	return NULL;
}
