/* Command lines by table: each program lists its options once, and usage and parsing follow from the list. */
#include "opts.h"

#include <getopt.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTS 96

static const struct {
	char letter;
	const char *name;
} letters[] = {
	{ 'b', "brokers" }, { 't', "topic" }, { 'X', "property" }, { 'u', "redis" }, { 'g', "group" },
};

void common_init(struct common *c)
{
	*c = (struct common){
		.key = "state:{key}",
		.key_format = "raw",
		.epoch = "epoch:{topic}:{partition}",
		.field_value = "value",
		.field_offset = "offset",
		.field_partition = "partition",
	};
}

static void usage(const struct opt *opts)
{
	printf("usage: %s [options]\n", program_invocation_short_name);
	for (; opts->name; opts++)
		printf("  --%-18s %s\n", opts->name, opts->help);
}

static const struct opt *opt_find(const struct opt *opts, const char *name)
{
	for (; opts->name; opts++)
		if (!strcmp(opts->name, name))
			return opts;
	return NULL;
}

static void opt_set(const struct opt *o, const char *text)
{
	struct opt_list *list;
	char *end;

	switch (o->type) {
	case OPT_TEXT:
		*(const char **)o->to = text;
		return;
	case OPT_FLAG:
		*(bool *)o->to = true;
		return;
	case OPT_INT:
		if (!parse_int64(bytes_of(text), o->to))
			die_usage("--%s: \"%s\" is not a whole number", o->name, text);
		return;
	case OPT_REAL:
		*(double *)o->to = strtod(text, &end);
		if (!*text || *end)
			die_usage("--%s: \"%s\" is not a number", o->name, text);
		return;
	case OPT_LIST:
		list = o->to;
		list->item = xrealloc(list->item, (list->count + 1) * sizeof(*list->item));
		list->item[list->count++] = text;
		return;
	}
}

/* The table as getopt_long wants it, --help last; returns how many options there are. */
static int opts_translate(const struct opt *opts, struct option *longs)
{
	int n = 0;

	for (; opts[n].name; n++) {
		if (n == MAX_OPTS)
			die("more than %d options", MAX_OPTS);
		longs[n] = (struct option){ opts[n].name, opts[n].type == OPT_FLAG ? no_argument : required_argument,
					    NULL, 0 };
	}
	longs[n] = (struct option){ "help", no_argument, NULL, 0 };
	longs[n + 1] = (struct option){ 0 };
	return n;
}

static const struct opt *opt_of_letter(const struct opt *opts, int letter)
{
	for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
		if (letters[i].letter == letter)
			return opt_find(opts, letters[i].name);
	return NULL;
}

void opts_parse(const struct opt *opts, int argc, char **argv, struct opt_list *rest)
{
	struct option longs[MAX_OPTS + 2];
	struct opt to_rest = { "", OPT_LIST, rest, "" };
	int n = opts_translate(opts, longs);
	int c, at;

	while ((c = getopt_long(argc, argv, "b:t:X:u:g:", longs, &at)) != -1) {
		const struct opt *o = c ? opt_of_letter(opts, c) : &opts[at];

		if (c == 0 && at == n) {
			usage(opts);
			exit(0);
		}
		if (!o)
			die_usage("try --help");
		opt_set(o, optarg);
	}
	for (; optind < argc; optind++) {
		if (!rest)
			die_usage("unexpected word \"%s\"; try --help", argv[optind]);
		opt_set(&to_rest, argv[optind]);
	}
}

void opts_need(const char *value, const char *name)
{
	if (!value)
		die_usage("--%s is needed", name);
}

int opts_choice(const char *name, const char *text, const char *const *valid)
{
	struct buf words = { 0 };

	for (int i = 0; valid[i]; i++)
		if (!strcmp(text, valid[i]))
			return i;
	for (int i = 0; valid[i]; i++)
		buf_format(&words, "%s%s", i ? ", " : "", valid[i]);
	die_usage("%s: \"%s\" is none of %s", name, text, words.data);
}
