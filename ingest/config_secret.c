/* config_secret: what stands outside the file: environment variables and files. */
#include "ingest/config_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/mem.h"

enum { SECRET_MAX = 65536 };

/* --- files -------------------------------------------------------------------------------------------------------- */

static int read_rest(FILE *file, size_t limit, struct buffer *out)
{
	char piece[4096];
	size_t n;

	while ((n = fread(piece, 1, sizeof(piece), file)) > 0 && out->size <= limit)
		buffer_add(out, piece, n);
	return ferror(file) ? -1 : 0;
}

char *read_whole_file(const char *path, size_t limit, size_t *size, struct trouble *t)
{
	FILE *file = fopen(path, "rbe");
	struct buffer out = { 0 };

	if (!file || read_rest(file, limit, &out) < 0) {
		trouble_set(t, "cannot read %s: %s", path, strerror(errno));
		goto fail;
	}
	if (out.size > limit) {
		trouble_set(t, "%s has more than %zu bytes", path, limit);
		goto fail;
	}
	fclose(file);
	*size = out.size;
	buffer_add(&out, "", 1);
	return (char *)out.data;
fail:
	if (file)
		fclose(file);
	buffer_release(&out);
	return NULL;
}

char *path_from_file(const struct reader *r, const char *path)
{
	return xprintf("%s%s", path[0] == '/' ? "" : r->folder, path);
}

char *secret_from_file(const struct reader *r, const char *path, struct trouble *why)
{
	char *full = path_from_file(r, path);
	size_t size = 0;
	char *text = read_whole_file(full, SECRET_MAX, &size, why);

	if (text && size && text[size - 1] == '\n')
		text[--size] = 0;
	if (text && size && text[size - 1] == '\r')
		text[--size] = 0;
	if (text && (!size || memchr(text, 0, size))) {
		trouble_set(why, "%s %s", full, size ? "has a NUL character" : "is empty");
		free(text);
		text = NULL;
	}
	free(full);
	return text;
}

/* --- environment -------------------------------------------------------------------------------------------------- */

static size_t name_length(const char *text)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

	return text[0] >= '0' && text[0] <= '9' ? 0 : strspn(text, letters);
}

/* Appends what the variable at text, which begins with "${", stands for. Its length, or 0 with trouble. */
static size_t expand_variable(const struct reader *r, const struct node *node, const char *text, struct buffer *out)
{
	size_t length = name_length(text + 2);
	const char *value = NULL;
	char name[256];

	if (!length || length >= sizeof(name) || text[length + 2] != '}') {
		reader_bad(
			r, node->line,
			"'${' begins no ${NAME}; valid: letters, digits and _ between the braces, or $${ for a "
			"literal ${");
		return 0;
	}
	memcpy(name, text + 2, length);
	name[length] = 0;
	if (r->overrides->env)
		value = r->overrides->env(r->overrides->env_context, name);
	if (!value) {
		reader_bad(r, node->line, "environment variable %s is not set", name);
		return 0;
	}
	buffer_add(out, value, strlen(value));
	return length + 3;
}

static int expand(const struct reader *r, struct node *node)
{
	const char *text = node->text;
	struct buffer out = { 0 };
	size_t length;

	for (; *text; text += length) {
		length = 1;
		if (!strncmp(text, "$${", 3)) {
			buffer_add(&out, "${", 2);
			length = 3;
		} else if (!strncmp(text, "${", 2)) {
			length = expand_variable(r, node, text, &out);
			if (!length) {
				buffer_release(&out);
				return -1;
			}
		} else {
			buffer_add(&out, text, 1);
		}
	}
	buffer_add(&out, "", 1);
	node->written = node->text;
	node->text = (char *)out.data;
	return 0;
}

int reader_expand(const struct reader *r, struct tree *tree)
{
	for (size_t i = 0; i < tree->count; i++) {
		struct node *node = tree->nodes[i];

		if (node->kind == NODE_TEXT && !node->is_key && strstr(node->text, "${") && expand(r, node) < 0)
			return -1;
	}
	return 0;
}
