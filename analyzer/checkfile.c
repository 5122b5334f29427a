/* checkfile: header comments into a struct; files of a folder over those compiled in. */
#include "analyzer/checkfile.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/mem.h"
#include "sql_data.h"

enum { ORDER_LAST = 1000, FILE_MOST = 1 << 20 };

/* The headers that every check has, beside the order; the subject may go without saying. */
struct header {
	const char *name;
	size_t field;
};

static const struct header headers[] = {
	{ "subject", offsetof(struct check, subject) },           { "title", offsetof(struct check, title) },
	{ "severity", offsetof(struct check, severity) },         { "claim", offsetof(struct check, claim) },
	{ "unverifiable", offsetof(struct check, unverifiable) }, { "remedy", offsetof(struct check, remedy) },
};

enum { HEADERS = sizeof(headers) / sizeof(*headers) };

static char **field(struct check *check, size_t header)
{
	return (char **)(void *)((char *)check + headers[header].field);
}

static void check_free(struct check *check)
{
	free(check->name);
	free(check->file);
	free(check->sql);
	for (size_t i = 0; i < HEADERS; i++)
		free(*field(check, i));
}

/* Puts line[0..length) behind what *text has, one space between. */
static void append(char **text, const char *line, size_t length)
{
	char *longer = *text ? xprintf("%s %.*s", *text, (int)length, line) : xprintf("%.*s", (int)length, line);

	free(*text);
	*text = longer;
}

/* The header that a line "name: text" begins, or HEADERS. *text is where its text begins. */
static size_t header_of(const char *line, size_t length, const char **text)
{
	for (size_t i = 0; i < HEADERS; i++) {
		size_t n = strlen(headers[i].name);

		if (length > n && strncmp(line, headers[i].name, n) == 0 && line[n] == ':') {
			*text = line + n + 1;
			return i;
		}
	}
	return HEADERS;
}

/* One comment line, without "--". *last is the header that it may go on. */
static int read_header(struct check *check, const char *line, size_t length, char ***last, struct trouble *t)
{
	const char *text = line, *end = line + length;
	size_t header;

	while (line < end && *line == ' ')
		line++;
	if (*last && line - text > 1) {
		append(*last, line, (size_t)(end - line));
		return 0;
	}
	*last = NULL;
	if (end - line > 6 && strncmp(line, "order:", 6) == 0) {
		check->order = strtol(line + 6, NULL, 10);
		return 0;
	}
	header = header_of(line, (size_t)(end - line), &text);
	if (header == HEADERS)
		return 0; /* a comment like any other */
	if (*field(check, header))
		return trouble_set(t, "check %s: the header \"%s\" stands twice", check->file, headers[header].name);
	while (text < end && *text == ' ')
		text++;
	append(field(check, header), text, (size_t)(end - text));
	*last = field(check, header);
	return 0;
}

static int read_headers(struct check *check, struct trouble *t)
{
	const char *line = check->sql;
	char **last = NULL;

	while (strncmp(line, "--", 2) == 0) {
		size_t length = strcspn(line, "\r\n");

		if (read_header(check, line + 2, length - 2, &last, t) < 0)
			return -1;
		line += length;
		line += strspn(line, "\r\n");
	}
	if (!check->subject)
		check->subject = xstrdup("pipeline");
	for (size_t i = 0; i < HEADERS; i++)
		if (!*field(check, i) || !**field(check, i))
			return trouble_set(t, "check %s: the header \"-- %s: ...\" is missing", check->file,
					   headers[i].name);
	if (strcmp(check->subject, "pipeline") && strcmp(check->subject, "stream") && strcmp(check->subject, "server"))
		return trouble_set(t, "check %s: subject \"%s\"; valid: pipeline, stream, server", check->file,
				   check->subject);
	if (strcmp(check->severity, "info") && strcmp(check->severity, "warning") && strcmp(check->severity, "error"))
		return trouble_set(t, "check %s: severity \"%s\"; valid: info, warning, error", check->file,
				   check->severity);
	return 0;
}

/* Takes over the strings of new. */
static void put(struct checks *checks, const struct check *new)
{
	for (size_t i = 0; i < checks->n; i++) {
		if (strcmp(checks->items[i].name, new->name) == 0) {
			check_free(&checks->items[i]);
			checks->items[i] = *new;
			return;
		}
	}
	checks->items = xgrow(checks->items, checks->n + 1, sizeof(*checks->items));
	checks->items[checks->n++] = *new;
}

/* sql is taken over. */
static int add(struct checks *checks, const char *name, const char *file, char *sql, struct trouble *t)
{
	struct check check = { .name = xstrdup(name), .file = xstrdup(file), .sql = sql, .order = ORDER_LAST };

	if (read_headers(&check, t) < 0) {
		check_free(&check);
		return -1;
	}
	put(checks, &check);
	return 0;
}

/* The whole file, or NULL. The caller frees. */
static char *read_file(const char *path, struct trouble *t)
{
	FILE *in = fopen(path, "re");
	char *text;
	size_t size;
	bool failed;

	if (!in) {
		trouble_set(t, "check %s: %s", path, strerror(errno));
		return NULL;
	}
	text = xalloc(FILE_MOST + 1);
	size = fread(text, 1, FILE_MOST + 1, in);
	failed = ferror(in) || size > FILE_MOST || memchr(text, 0, size);
	fclose(in);
	if (failed) {
		trouble_set(t, "check %s: cannot be read, is larger than 1 MiB or is no text", path);
		free(text);
		return NULL;
	}
	text[size] = 0;
	return text;
}

static int add_file(struct checks *checks, const char *dir, const char *file, struct trouble *t)
{
	char *path = xprintf("%s/%s", dir, file);
	char *name = xprintf("%.*s", (int)(strlen(file) - strlen(".sql")), file);
	char *sql = read_file(path, t);
	int result = sql ? add(checks, name, path, sql, t) : -1;

	free(path);
	free(name);
	return result;
}

static int is_check(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 4 && entry->d_name[0] != '.' && strcmp(entry->d_name + length - 4, ".sql") == 0;
}

static int add_dir(struct checks *checks, const char *dir, struct trouble *t)
{
	struct dirent **files;
	int n = scandir(dir, &files, is_check, alphasort), result = 0;

	if (n < 0)
		return trouble_set(t, "checks directory %s: %s", dir, strerror(errno));
	for (int i = 0; i < n; i++) {
		if (result == 0)
			result = add_file(checks, dir, files[i]->d_name, t);
		free(files[i]);
	}
	free(files);
	if (result == 0 && n == 0)
		return trouble_set(t, "checks directory %s: has no *.sql file", dir);
	return result;
}

static int by_order(const void *a, const void *b)
{
	const struct check *x = a, *y = b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return strcmp(x->name, y->name);
}

int checks_load(const char *dir, struct checks *checks, struct trouble *t)
{
	int result = 0;

	*checks = (struct checks){ 0 };
	for (const struct sql_file *file = sql_checks_files; file->name && result == 0; file++)
		result = add(checks, file->name, file->name, xstrdup(file->text), t);
	if (result == 0 && dir)
		result = add_dir(checks, dir, t);
	if (checks->n)
		qsort(checks->items, checks->n, sizeof(*checks->items), by_order);
	if (result < 0)
		checks_free(checks);
	return result;
}

void checks_free(struct checks *checks)
{
	for (size_t i = 0; i < checks->n; i++)
		check_free(&checks->items[i]);
	free(checks->items);
	*checks = (struct checks){ 0 };
}
