/* The fence scripts in a Redis, called by their hash and loaded again where the server has forgotten them. */
#include "script.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const verdict_names[] = { "FENCE", "APPLY", "REBASE", "REEMIT", "SKIP", "DLQ" };

const char *verdict_name(enum verdict v)
{
	return verdict_names[v];
}

/* The directory of the scripts: that of --script, else ../../tests/pipeline from the program's own. */
static void script_path(struct buf *path, const struct common *c, const char *name)
{
	char self[PATH_MAX];
	ssize_t n;

	buf_clear(path);
	if (c->script) {
		buf_format(path, "%s/%s", c->script, name);
		return;
	}
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n < 0)
		die("cannot find my own path; give --script DIR");
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	buf_format(path, "%s/../../tests/pipeline/%s", self, name);
}

/* Replace every 'from' in its quotes by 'to'. */
static void rename_field(struct buf *text, const char *from, const char *to)
{
	struct buf quoted = { 0 }, out = { 0 };
	const char *p = text->data, *hit;

	buf_format(&quoted, "'%s'", from);
	while ((hit = strstr(p, quoted.data))) {
		buf_add(&out, p, (size_t)(hit - p));
		buf_format(&out, "'%s'", to);
		p = hit + quoted.len;
	}
	buf_text(&out, p);
	buf_release(text);
	buf_release(&quoted);
	*text = out;
}

void script_load(struct script *s, redisContext *r, const struct common *c, const char *name)
{
	struct buf path = { 0 };

	*s = (struct script){ 0 };
	script_path(&path, c, name);
	read_file(path.data, &s->text);
	buf_release(&path);
	/* Two steps, so that fields may swap their names. */
	rename_field(&s->text, "value", "\001v");
	rename_field(&s->text, "offset", "\001o");
	rename_field(&s->text, "partition", "\001p");
	rename_field(&s->text, "\001v", c->field_value);
	rename_field(&s->text, "\001o", c->field_offset);
	rename_field(&s->text, "\001p", c->field_partition);
	script_reload(s, r);
}

void script_reload(struct script *s, redisContext *r)
{
	redisReply *reply = redis_run(r, REDIS_ARGS(bytes_of("SCRIPT"), bytes_of("LOAD"), buf_bytes(&s->text)));

	if (reply->type != REDIS_REPLY_STRING || reply->len != 40)
		die("SCRIPT LOAD gave no hash");
	snprintf(s->sha, sizeof(s->sha), "%s", reply->str);
	freeReplyObject(reply);
}

void script_release(struct script *s)
{
	buf_release(&s->text);
}

void script_call(const struct script *s, redisContext *r, const struct call *call)
{
	char partition[16], offset[24], epoch[24];

	snprintf(partition, sizeof(partition), "%" PRId32, call->partition);
	snprintf(offset, sizeof(offset), "%" PRId64, call->offset);
	snprintf(epoch, sizeof(epoch), "%" PRId64, call->epoch);
	redis_queue(r,
		    REDIS_ARGS(bytes_of("EVALSHA"), bytes_of(s->sha), bytes_of("2"), call->state_key, call->epoch_key,
			       bytes_of(partition), bytes_of(offset), bytes_of(epoch), call->value));
}

bool script_answer(redisContext *r, enum verdict *v, redisReply **reply)
{
	*reply = redis_reply(r);
	if ((*reply)->type == REDIS_REPLY_ERROR && !strncmp((*reply)->str, "NOSCRIPT", 8))
		return false;
	if ((*reply)->type == REDIS_REPLY_ERROR)
		die("fence script: %s", (*reply)->str);
	if ((*reply)->type != REDIS_REPLY_ARRAY || !(*reply)->elements || !(*reply)->element[0]->str)
		die("fence script: not an answer of the contract");
	for (int i = VERDICT_FENCE; i <= VERDICT_SKIP; i++) {
		if (!strcmp((*reply)->element[0]->str, verdict_names[i])) {
			*v = (enum verdict)i;
			return true;
		}
	}
	die("fence script: \"%s\" is no verdict", (*reply)->element[0]->str);
}
