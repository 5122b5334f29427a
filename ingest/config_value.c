/* config_value: readers of the common kinds of values. */
#include "ingest/config_read.h"

#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/mem.h"

enum { TEXT_MAX = 4095, TOPIC_MAX = 249 };

void *rule_member(const struct rule *rule, void *into)
{
	return (char *)into + rule->offset;
}

/* --- text --------------------------------------------------------------------------------------------------------- */

/* Whether nothing is the value, so that the key stands for "none". */
static bool is_nothing(const struct node *value)
{
	return value->kind == NODE_NULL || (value->kind == NODE_TEXT && !*value->text);
}

static bool has_controls(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return true;
	}
	return false;
}

const char *value_text(const struct reader *r, const struct rule *rule, const struct node *value)
{
	if (value->kind == NODE_TEXT && *value->text && strlen(value->text) <= TEXT_MAX && !has_controls(value->text))
		return value->text;
	if (value->kind == NODE_TEXT && strlen(value->text) > TEXT_MAX)
		reader_bad(r, value->line, "%s: more than %d bytes", rule->key, TEXT_MAX);
	else if (value->kind == NODE_TEXT && *value->text)
		reader_bad(r, value->line, "%s: a control character in the text", rule->key);
	else
		reader_bad(r, value->line, "%s: %s; valid: %s", rule->key,
			   value->kind == NODE_LIST  ? "a list"
			   : value->kind == NODE_MAP ? "a mapping"
						     : "nothing",
			   rule->type);
	return NULL;
}

int read_text(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	const char *text = value_text(r, rule, value);
	char **out = rule_member(rule, into);

	if (!text)
		return -1;
	free(*out);
	*out = xstrdup(text);
	return 0;
}

int read_text_or_none(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	char **out = rule_member(rule, into);

	if (!is_nothing(value))
		return read_text(r, rule, value, into);
	free(*out);
	*out = NULL;
	return 0;
}

int read_secret(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	char **out = rule_member(rule, into), *secret = NULL;
	struct trouble why = { 0 };
	const char *text;

	if (!is_nothing(value)) {
		text = value_text(r, rule, value);
		if (!text)
			return -1;
		secret = strncmp(text, "file:", 5) ? xstrdup(text) : secret_from_file(r, text + 5, &why);
		if (!secret)
			return reader_bad(r, value->line, "%s: %s", rule->key, why.text);
	}
	free(*out);
	*out = secret;
	return 0;
}

int read_template(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	struct key_template **out = rule_member(rule, into), *template = NULL;
	struct trouble why;
	const char *text;

	if (!is_nothing(value)) {
		text = value_text(r, rule, value);
		if (!text)
			return -1;
		template = template_new(text, &why);
		if (!template)
			return reader_bad_value(r, rule, value, why.text);
	}
	template_free(*out);
	*out = template;
	return 0;
}

/* --- numbers, switches, words ------------------------------------------------------------------------------------- */

bool parse_number(const char *text, int64_t *number)
{
	bool minus = *text == '-';

	*number = 0;
	text += minus;
	if (!*text || (*text == '0' && (text[1] || minus)))
		return false;
	for (; *text; text++) {
		int digit = *text - '0';

		if (digit < 0 || digit > 9 || __builtin_mul_overflow(*number, 10, number) ||
		    __builtin_sub_overflow(*number, digit, number)) /* downwards, for INT64_MIN */
			return false;
	}
	return minus || !__builtin_sub_overflow(0, *number, number);
}

int read_number(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	int64_t *out = rule_member(rule, into), number;
	char words[128];

	if (!value_text(r, rule, value))
		return -1;
	if (parse_number(value->text, &number) && number >= rule->least && number <= rule->most) {
		*out = number;
		return 0;
	}
	snprintf(words, sizeof(words), "valid: an integer in plain digits from %" PRId64 " to %" PRId64, rule->least,
		 rule->most);
	return reader_bad_value(r, rule, value, words);
}

int read_duration(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	int64_t *out = rule_member(rule, into), ms;
	char words[128];

	if (!value_text(r, rule, value))
		return -1;
	if (!config_duration(value->text, &ms))
		return reader_bad_value(r, rule, value, "valid: " CONFIG_DURATION_WORDS);
	if (ms < rule->least || ms > rule->most) {
		snprintf(words, sizeof(words), "valid: %" PRId64 " ms to %" PRId64 " days", rule->least,
			 rule->most / 86400000);
		return reader_bad_value(r, rule, value, words);
	}
	*out = ms;
	return 0;
}

static bool among(const char *text, const char *const *words, size_t *at)
{
	for (*at = 0; words[*at]; ++*at) {
		if (!strcmp(words[*at], text))
			return true;
	}
	return false;
}

int read_switch(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	static const char *const words[] = { "no",    "yes",   "false", "true", "off", "on", "No",
					     "Yes",   "False", "True",	"Off",	"On",  "NO", "YES",
					     "FALSE", "TRUE",  "OFF",	"ON",	NULL };
	bool *out = rule_member(rule, into);
	size_t at;

	if (!value_text(r, rule, value))
		return -1;
	if (!among(value->text, words, &at))
		return reader_bad_value(r, rule, value, "valid: yes, no");
	*out = at % 2;
	return 0;
}

int read_word(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	unsigned *out = rule_member(rule, into); /* what an enum without negative values is */
	char words[768] = "valid: "; /* the longest list, of key formats, takes half of it */
	size_t at;

	if (!value_text(r, rule, value))
		return -1;
	if (among(value->text, rule->words, &at)) {
		*out = (unsigned)at;
		return 0;
	}
	for (at = 0; rule->words[at]; at++) {
		size_t length = strlen(words);

		snprintf(words + length, sizeof(words) - length, "%s%s", at ? ", " : "", rule->words[at]);
	}
	return reader_bad_value(r, rule, value, words);
}

/* --- topics ------------------------------------------------------------------------------------------------------- */

void names_free(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
	*names = (struct names){ 0 };
}

bool names_have(const struct names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++) {
		if (!strcmp(names->items[i], name))
			return true;
	}
	return false;
}

bool topic_name_valid(const char *text)
{
	static const char valid[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t length = strlen(text);

	return length && length <= TOPIC_MAX && strspn(text, valid) == length && strcmp(text, ".") &&
	       strcmp(text, "..");
}

/* As it is compiled when topics are matched. */
static bool is_regex(const char *text)
{
	regex_t regex;

	if (regcomp(&regex, text, REG_EXTENDED | REG_NOSUB) != 0)
		return false;
	regfree(&regex);
	return true;
}

static int add_topic(const struct reader *r, const struct rule *rule, const struct node *value, struct names *names)
{
	const char *text = value_text(r, rule, value);

	if (!text)
		return -1;
	if (text[0] == '^' && !is_regex(text))
		return reader_bad_value(r, rule, value,
					"no regular expression; valid: POSIX extended, like ^orders-[a-z]+$");
	if (text[0] != '^' && !topic_name_valid(text))
		return reader_bad_value(
			r, rule, value,
			"no topic's name; valid: at most 249 of a-z A-Z 0-9 . _ -, or ^ and a regular expression");
	if (names_have(names, text))
		return reader_bad_value(r, rule, value, "listed twice");
	names->items = xgrow(names->items, names->count + 1, sizeof(*names->items));
	names->items[names->count++] = xstrdup(text);
	return 0;
}

int read_topics(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	struct names *names = rule_member(rule, into);

	names_free(names);
	if (value->kind != NODE_LIST)
		return add_topic(r, rule, value, names);
	if (!value->count)
		return reader_bad(r, value->line, "%s: an empty list; valid: %s", rule->key, rule->type);
	for (size_t i = 0; i < value->count; i++) {
		if (add_topic(r, rule, value->items[i], names) < 0)
			return -1;
	}
	return 0;
}
