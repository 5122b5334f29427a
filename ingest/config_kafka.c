/*
 * config_kafka: properties for librdkafka, from the file, from -F and from -X. Whether one exists, and what is valid
 * for it, librdkafka says at once: a wrong word is an error of the configuration, not trouble with a cluster.
 */
#include "ingest/config_read.h"

#include <librdkafka/rdkafka.h>
#include <stdlib.h>
#include <string.h>

#include "sql/mem.h"

enum { PROPERTY_FILE_MAX = 1 << 20 };

void properties_add(struct properties *properties, const char *name, const char *value)
{
	properties->items = xgrow(properties->items, properties->count + 1, sizeof(*properties->items));
	properties->items[properties->count++] = (struct property){ xstrdup(name), xstrdup(value) };
}

void properties_append(struct properties *to, const struct properties *from)
{
	for (size_t i = 0; i < from->count; i++)
		properties_add(to, from->items[i].name, from->items[i].value);
}

void properties_free(struct properties *properties)
{
	for (size_t i = 0; i < properties->count; i++) {
		free(properties->items[i].name);
		free(properties->items[i].value);
	}
	free(properties->items);
	*properties = (struct properties){ 0 };
}

const char *properties_get(const struct properties *properties, const char *name)
{
	for (size_t i = properties->count; i-- > 0;) {
		if (!strcmp(properties->items[i].name, name))
			return properties->items[i].value;
	}
	return NULL;
}

bool config_property_secret(const char *name)
{
	static const char *const parts[] = { "password",    "passphrase",  "secret",
					     "private.key", "ssl.key.pem", "oauthbearer.config" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (strstr(name, parts[i]))
			return true;
	}
	return false;
}

/*
 * Whether librdkafka takes it. Plugins are left to the client: asking would load them. 0, or -1 with why, no secrets.
 */
static int ask_librdkafka(const char *name, const char *value, struct trouble *why)
{
	rd_kafka_conf_t *scratch;
	rd_kafka_conf_res_t answer;
	char words[400] = "";

	if (!strcmp(name, "plugin.library.paths"))
		return 0;
	scratch = rd_kafka_conf_new();
	answer = rd_kafka_conf_set(scratch, name, value, words, sizeof(words));
	rd_kafka_conf_destroy(scratch);
	if (answer == RD_KAFKA_CONF_OK)
		return 0;
	if (answer == RD_KAFKA_CONF_UNKNOWN)
		return trouble_set(why, "%.100s is no property of librdkafka %s", name, rd_kafka_version_str());
	return trouble_set(why, "%s", config_property_secret(name) ? "librdkafka does not take the value" : words);
}

static int add_asked(struct properties *properties, const char *name, const char *value, struct trouble *why)
{
	if (ask_librdkafka(name, value, why) < 0)
		return -1;
	properties_add(properties, name, value);
	return 0;
}

/* Adds a property; a secret may be file:PATH. -1 with why filled. */
static int add_resolved(const struct reader *r, struct properties *properties, const char *name, const char *value,
			struct trouble *why)
{
	char *secret;
	int status;

	if (!config_property_secret(name) || strncmp(value, "file:", 5))
		return add_asked(properties, name, value, why);
	secret = secret_from_file(r, value + 5, why);
	if (!secret)
		return -1;
	status = add_asked(properties, name, secret, why);
	free(secret);
	return status;
}

/* --- from the file ------------------------------------------------------------------------------------------------ */

/* librdkafka knows true and false alone; YAML's other words for them count where they stand without quotes. */
static const char *property_text(const struct node *value)
{
	static const char *const yes[] = { "yes", "Yes", "YES", "on", "On", "ON", "True", "TRUE" };
	static const char *const no[] = { "no", "No", "NO", "off", "Off", "OFF", "False", "FALSE" };

	for (size_t i = 0; value->plain && !value->written && i < sizeof(yes) / sizeof(yes[0]); i++) {
		if (!strcmp(value->text, yes[i]))
			return "true";
		if (!strcmp(value->text, no[i]))
			return "false";
	}
	return value->text;
}

static int read_property(const struct reader *r, const struct node_entry *entry, struct properties *properties)
{
	const char *name = entry->key->text;
	struct trouble why;

	if (entry->value->kind != NODE_TEXT)
		return reader_bad(r, entry->value->line,
				  "kafka: %.100s: %s; valid: text, a number, true or false (several values are one "
				  "text, separated by commas)",
				  name, entry->value->kind == NODE_NULL ? "nothing" : "not one value");
	if (!*name || entry->key->kind == NODE_NULL)
		return reader_bad(r, entry->key->line, "kafka: a property without a name");
	if (add_resolved(r, properties, name, property_text(entry->value), &why) < 0)
		return reader_bad(r, entry->value->line, "kafka: %.100s: %s", name, why.text);
	return 0;
}

int read_kafka(const struct reader *r, const struct rule *rule, const struct node *value, void *into)
{
	struct properties *properties = rule_member(rule, into);

	if (value->kind == NODE_NULL)
		return 0;
	if (value->kind != NODE_MAP)
		return reader_bad(r, value->line,
				  "kafka: must be a mapping of librdkafka's properties, a 'name: value' a line");
	for (size_t i = 0; i < value->count; i++) {
		if (read_property(r, &value->entries[i], properties) < 0)
			return -1;
	}
	return 0;
}

/* --- from the command line ---------------------------------------------------------------------------------------- */

static char *trim(char *text)
{
	size_t length;

	text += strspn(text, " \t\r");
	length = strlen(text);
	while (length && strchr(" \t\r", text[length - 1]))
		text[--length] = 0;
	return text;
}

/* Drops the backslash of \: and \= . */
static void unescape(char *text)
{
	char *out = text;

	for (; *text; text++) {
		if (text[0] == '\\' && (text[1] == ':' || text[1] == '='))
			text++;
		*out++ = *text;
	}
	*out = 0;
}

/* Splits "name=value" in place, blanks around both dropped. False where it is none. */
static bool split(char *text, struct property *property)
{
	char *equals = strchr(text, '=');

	*property = (struct property){ 0 };
	if (!equals)
		return false;
	*equals = 0;
	property->name = trim(text);
	property->value = trim(equals + 1);
	return *property->name;
}

static int add_line(const struct reader *r, char *line, struct properties *properties, struct trouble *why)
{
	struct property property;

	line = trim(line);
	if (!*line || *line == '#')
		return 0;
	if (!split(line, &property))
		return trouble_set(why, "valid: property=value, or # and a comment");
	if (!strcmp(property.name, "sasl.jaas.config"))
		return trouble_set(why, "sasl.jaas.config is for Java clients; valid: sasl.username=, sasl.password=");
	unescape(property.value);
	return add_resolved(r, properties, property.name, property.value, why);
}

static int override_from_file(const struct reader *r, struct properties *properties)
{
	const char *path = r->overrides->kafka_file;
	struct trouble why = { 0 };
	size_t size = 0;
	char *text = read_whole_file(path, PROPERTY_FILE_MAX, &size, r->t), *line = text, *end;
	int status = 0, number = 1;

	if (!text)
		return trouble_wrap(r->t, "-F");
	if (memchr(text, 0, size)) {
		free(text);
		return trouble_set(r->t, "-F %s: a NUL character", path);
	}
	for (; line && !status; line = end, number++) {
		end = strchr(line, '\n');
		if (end)
			*end++ = 0;
		status = add_line(r, line, properties, &why);
		if (status < 0)
			trouble_set(r->t, "-F %s:%d: %s", path, number, why.text);
	}
	free(text);
	return status;
}

int properties_override(struct properties *properties, const struct reader *r)
{
	struct property property;
	struct trouble why = { 0 };

	if (r->overrides->kafka_file && override_from_file(r, properties) < 0)
		return -1;
	for (size_t i = 0; i < r->overrides->kafka_property_count; i++) {
		char *text = xstrdup(r->overrides->kafka_properties[i]);
		int status = split(text, &property) ? 0 : trouble_set(&why, "valid: -X property=value");

		if (!status)
			status = add_resolved(r, properties, property.name, property.value, &why);
		free(text);
		if (status < 0)
			return trouble_set(r->t, "-X number %zu: %s", i + 1, why.text);
	}
	return 0;
}
