/* options: what popt reads, and what it means. */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/mem.h"

static const char about_commands[] =
	"COMMAND [OPTION]...\n"
	"\n"
	"  audit            replay, sample, check, report: the nightly job\n"
	"  replay           bring the index up to the topics' ends\n"
	"  sample           replay, then look at Redis in the order that makes findings safe\n"
	"  check [RUN]      fold and check what a run saw; the newest unless told\n"
	"  report [RUN]     write the report of a checked run again\n"
	"  runs             list runs\n"
	"  checks [NAME]    list the checks, or show one with its claim and its SQL\n"
	"  sql QUERY        query the index, read-only\n"
	"\n"
	"Exit status: 0 complete and nothing found; 2 findings; 1 something could not be looked at; 64 usage or "
	"config; 75 the index is busy.\n";

static const char *environment(void *context, const char *name)
{
	(void)context;
	return getenv(name);
}

static poptContext option_context(struct options *o, int argc, const char **argv)
{
	struct option_texts *x = &o->texts;
	const struct poptOption rows[] = {
		{ "config", 'c', POPT_ARG_STRING, &o->config, 0, "fencepost.yaml unless told", "FILE" },
		{ "output", 'o', POPT_ARG_STRING, &o->output, 0, "report directory; reports/RUN unless told", "DIR" },
		{ "index", 0, POPT_ARG_STRING, &o->index, 0, "index, instead of the config's", "FILE" },
		{ "format", 0, POPT_ARG_STRING, &x->format, 0, "text or json, on stdout", "FORMAT" },
		{ "quiet", 'q', POPT_ARG_NONE, &o->quiet, 0, "no progress", NULL },
		{ "all", 0, POPT_ARG_NONE, &o->all, 0, "look at every key", NULL },
		{ "since", 0, POPT_ARG_STRING, &x->since, 0,
		  "look only at keys written since, at all of them, without a scan", "TIME" },
		{ "checks", 0, POPT_ARG_STRING, &o->checks, 0, "more checks, or others of the same name", "DIR" },
		{ "metrics", 0, POPT_ARG_STRING, &o->metrics, 0, "write metrics.prom there too, on failure as well",
		  "FILE" },
		{ "explain-rebases", 0, POPT_ARG_LONGLONG, &x->explain_rebases, 0,
		  "check: show so many rebased keys, record by record", "N" },
		{ "memory", 0, POPT_ARG_STRING, &x->memory, 0, "for the tables of keys; 256M unless told", "SIZE" },
		{ "handles", 0, POPT_ARG_LONGLONG, &x->handles, 0, "Kafka consumer handles; 2 unless told", "N" },
		{ "redis-rate", 0, POPT_ARG_LONGLONG, &x->rate, 0, "keys a second; 0 is unlimited", "N" },
		{ "timeout", 0, POPT_ARG_STRING, &x->timeout, 0,
		  "without progress, until a partition or server is given up; 60s", "DURATION" },
		{ "wait", 0, POPT_ARG_STRING, &x->wait, 0, "for another writer of the index to finish; 0s",
		  "DURATION" },
		{ "deadline", 0, POPT_ARG_STRING, &x->deadline, 0, "end by then; what is indexed is kept", "DURATION" },
		{ NULL, 'X', POPT_ARG_ARGV, &x->properties, 0, "librdkafka property, as often as needed", "PROP=VAL" },
		{ NULL, 'F', POPT_ARG_STRING, &o->overrides.kafka_file, 0, "file of librdkafka properties", "FILE" },
		{ "redis", 'u', POPT_ARG_STRING, &o->overrides.redis_url, 0,
		  "redis://[user[:password]@]host[:port][/db] or unix:///path; "
		  "REDISCLI_AUTH is read",
		  "URL" },
		{ "help", 'h', POPT_ARG_NONE, &o->help, 0, "show this", NULL },
		{ "version", 'V', POPT_ARG_NONE, &o->version, 0, "show the version", NULL },
		POPT_TABLEEND
	};
	poptContext context;

	o->rows = xmemdup(rows, sizeof(rows)); /* popt keeps the table */
	context = poptGetContext("fencepost", argc, argv, o->rows, 0);

	poptSetOtherOptionHelp(context, about_commands);
	return context;
}

/* Decimal digits, then at most one of the suffixes k, M, G (powers of 1024). 1, or 0 where it is none. */
static int read_size(const char *text, int64_t *size)
{
	const char *letters = "kMG", *letter;
	char *end;
	int shift = 0;

	if (*text < '0' || *text > '9')
		return 0;
	errno = 0;
	*size = strtoll(text, &end, 10);
	if (*end && (letter = strchr(letters, *end)) != NULL)
		shift = 10 * (int)(letter - letters + 1);
	if (errno || end[shift > 0] || *size > INT64_MAX >> shift)
		return 0;
	*size <<= shift;
	return 1;
}

static int read_texts(struct options *o, int64_t now_us, struct trouble *t)
{
	const struct option_texts *x = &o->texts;

	if (x->format && strcmp(x->format, "text") != 0 && strcmp(x->format, "json") != 0)
		return trouble_set(t, "--format %s: not valid; give text or json", x->format);
	if (x->since && !config_time(x->since, &o->since_us))
		return trouble_set(t, "--since %s: not valid; give " CONFIG_TIME_WORDS, x->since);
	if (o->since_us != UNKNOWN && o->since_us > now_us)
		return trouble_set(t, "--since %s: has not come yet, so no key was written since", x->since);
	if (x->memory && (!read_size(x->memory, &o->memory) || o->memory < 1 << 20))
		return trouble_set(t, "--memory %s: not valid; give a size from 1M, like 256M", x->memory);
	if (x->timeout &&
	    (!config_duration(x->timeout, &o->timeout_ms) || o->timeout_ms < 1 || o->timeout_ms > INT32_MAX))
		return trouble_set(t, "--timeout %s: not valid; give " CONFIG_DURATION_WORDS, x->timeout);
	if (x->wait && !config_duration(x->wait, &o->wait_ms))
		return trouble_set(t, "--wait %s: not valid; give " CONFIG_DURATION_WORDS, x->wait);
	if (x->deadline && (!config_duration(x->deadline, &o->deadline_ms) || o->deadline_ms < 1))
		return trouble_set(t, "--deadline %s: not valid; give " CONFIG_DURATION_WORDS, x->deadline);
	if (x->handles < 1 || x->handles > 64)
		return trouble_set(t, "--handles %lld: not valid; give a number from 1 to 64", x->handles);
	if (x->rate < -1)
		return trouble_set(t, "--redis-rate %lld: not valid; give a number of keys, or 0 for unlimited",
				   x->rate);
	if (x->explain_rebases < 0 || (x->explain_rebases > 0 && strcmp(o->command, "check") != 0))
		return trouble_set(t, "--explain-rebases %lld: not valid; give fencepost check a number of keys",
				   x->explain_rebases);
	if (o->all && o->since_us != UNKNOWN)
		return trouble_set(t, "--all and --since exclude each other");
	o->json = x->format && strcmp(x->format, "json") == 0;
	o->explain_rebases = x->explain_rebases;
	o->handles = x->handles;
	o->overrides.redis_rate = x->rate < 0 ? UNKNOWN : x->rate;
	o->overrides.kafka_properties = (const char *const *)x->properties;
	while (x->properties && x->properties[o->overrides.kafka_property_count])
		o->overrides.kafka_property_count++;
	return 0;
}

int options_read(struct options *o, int argc, const char **argv, int64_t now_us, struct trouble *t)
{
	poptContext context;
	int bad;

	*o = (struct options){
		.texts = { .handles = 2, .rate = -1 }, .timeout_ms = 60000, .since_us = UNKNOWN, .memory = 256 << 20
	};
	o->overrides = (struct config_overrides){ .env = environment, .redis_auth = getenv("REDISCLI_AUTH") };
	o->popt = context = option_context(o, argc, argv);
	bad = poptGetNextOpt(context);
	if (bad < -1)
		return trouble_set(t, "%s: %s; try fencepost --help", poptBadOption(context, POPT_BADOPTION_NOALIAS),
				   poptStrerror(bad));
	if (o->help)
		poptPrintHelp(context, stdout, 0);
	if (o->help || o->version)
		return 0;
	if (!o->config)
		o->config = xstrdup("fencepost.yaml");
	o->command = poptGetArg(context);
	o->arguments = poptGetArgs(context);
	while (o->arguments && o->arguments[o->argument_count])
		o->argument_count++;
	if (!o->command)
		return trouble_set(t, "no command; try fencepost --help");
	return read_texts(o, now_us, t);
}

/* Covers the rest of an argument from where it holds text + skip, so that the list of processes does not show it. */
static void cover(char *argument, const char *text, size_t skip)
{
	char *found = strstr(argument, text);

	if (found)
		memset(found + skip, '*', strlen(found + skip));
}

/* Passwords stand in -u after the scheme and in -X after the name. popt has copies. */
void options_cover_secrets(const struct options *o, int argc, const char **argv)
{
	const char *url = o->overrides.redis_url, *value;

	for (int i = 1; i < argc; i++) {
		if (url && strchr(url, '@') && strstr(url, "://"))
			cover((char *)argv[i], url, (size_t)(strstr(url, "://") - url) + 3);
		for (char **p = o->texts.properties; p && *p; p++)
			if ((value = strchr(*p, '=')) != NULL)
				cover((char *)argv[i], *p, (size_t)(value - *p) + 1);
	}
}

void options_release(struct options *o)
{
	const char *texts[] = { o->config,
				o->output,
				o->index,
				o->checks,
				o->metrics,
				o->overrides.kafka_file,
				o->overrides.redis_url,
				o->texts.format,
				o->texts.since,
				o->texts.memory,
				o->texts.timeout,
				o->texts.wait,
				o->texts.deadline };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		free((void *)texts[i]);
	for (char **p = o->texts.properties; p && *p; p++)
		free(*p);
	free(o->texts.properties);
	poptFreeContext(o->popt);
	free(o->rows);
}
