/*
 * redis_url: the address of a Redis server.
 *
 *     redis://[[USER]:PASSWORD@]HOST[:PORT][/DB][?db=DB]     rediss:// likewise, over TLS
 *     unix://[[USER]:PASSWORD@]/PATH[?db=DB]
 *
 * USER, PASSWORD, HOST and PATH are percent-decoded. No words show any part of a URL, because any part may be a
 * secret in the wrong place.
 */
#include "ingest/config_read.h"

#include <stdlib.h>
#include <string.h>

#include "sql/mem.h"

static const char url_words[] =
	"valid: redis://[user:password@]host[:port][/db], rediss:// likewise, unix:///path[?db=n]; "
	"%40 for an @ in a password";

static int bad(struct trouble *t, const char *words)
{
	return trouble_set(t, "%s; %s", words, url_words);
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* text[0..size) percent-decoded; NULL where it is malformed or holds a control character. */
static char *decode(const char *text, size_t size)
{
	char *out = xalloc(size + 1);
	size_t length = 0;

	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '%') {
			int high = i + 1 < size ? hex(text[i + 1]) : -1, low = i + 2 < size ? hex(text[i + 2]) : -1;

			c = high < 0 || low < 0 ? 0 : (unsigned char)(high << 4 | low);
			i += 2;
		}
		if (c < 0x20 || c == 0x7f) {
			free(out);
			return NULL;
		}
		out[length++] = (char)c;
	}
	return out;
}

static char *decode_or_none(const char *text, size_t size, bool *ok)
{
	char *out = decode(text, size);

	*ok = *ok && out;
	if (out && !*out) {
		free(out);
		return NULL;
	}
	return out;
}

static int parse_db(const char *text, struct redis_url *url, struct trouble *t)
{
	int64_t db;

	if (!parse_number(text, &db) || db < 0 || db > INT32_MAX)
		return bad(t, "the database is no number");
	if (url->db >= 0 && url->db != db)
		return bad(t, "the URL names two databases");
	url->db = (int)db;
	return 0;
}

/* Takes "?db=N" off the end of text. */
static int cut_query(char *text, struct redis_url *url, struct trouble *t)
{
	char *query = strchr(text, '?');

	if (strchr(text, '#'))
		return bad(t, "a # in the URL");
	if (!query)
		return 0;
	*query++ = 0;
	if (strncmp(query, "db=", 3))
		return bad(t, "an unknown parameter behind the question mark");
	return parse_db(query + 3, url, t);
}

/* What stands before the @, which *text moves behind. */
static int cut_user(char **text, struct redis_url *url, struct trouble *t)
{
	char *at = strchr(*text, '@'), *colon = strchr(*text, ':');
	bool ok = true;

	if (!at)
		return 0;
	if (strchr(at + 1, '@') || memchr(*text, '/', (size_t)(at - *text)))
		return bad(t, "a second @, or a slash before it: in a password write %40 and %2F");
	if (!colon || colon > at)
		return bad(t, "a user or a password stands before the @, and which one it is the URL does not say: "
			      "write user:password@ or :password@");
	url->user = decode_or_none(*text, (size_t)(colon - *text), &ok);
	url->password = decode_or_none(colon + 1, (size_t)(at - colon - 1), &ok);
	*text = at + 1;
	if (!ok)
		return bad(t, "a bad %XX before the @");
	if (url->user && !url->password)
		return bad(t, "a user without a password");
	return 0;
}

static int parse_port(const char *text, struct redis_url *url, struct trouble *t)
{
	int64_t port;

	if (!parse_number(text, &port) || port < 1 || port > 65535)
		return bad(t, "the port is no number from 1 to 65535");
	url->port = (int)port;
	return 0;
}

/* HOST[:PORT], where HOST may be an IPv6 address in brackets. */
static int parse_host(const char *text, struct redis_url *url, struct trouble *t)
{
	bool brackets = *text == '[';
	const char *host = text + brackets;
	const char *end = brackets ? strchr(text, ']') : text + strcspn(text, ":");
	const char *rest = end ? end + brackets : NULL;

	if (!rest || (*rest && *rest != ':'))
		return bad(t, "an address in brackets that do not close");
	url->host = decode(host, (size_t)(end - host));
	if (!url->host || !*url->host)
		return bad(t, "no host");
	for (char *c = url->host; *c; c++)
		*c = *c >= 'A' && *c <= 'Z' ? (char)(*c | 0x20) : *c;
	return *rest ? parse_port(rest + 1, url, t) : 0;
}

static int parse_tcp(char *text, struct redis_url *url, struct trouble *t)
{
	char *slash;

	url->port = 6379;
	if (cut_query(text, url, t) < 0 || cut_user(&text, url, t) < 0)
		return -1;
	slash = strchr(text, '/');
	if (slash)
		*slash++ = 0;
	if (slash && *slash && parse_db(slash, url, t) < 0)
		return -1;
	return parse_host(text, url, t);
}

static int parse_unix(char *text, struct redis_url *url, struct trouble *t)
{
	size_t before;

	if (cut_query(text, url, t) < 0)
		return -1;
	before = strcspn(text, "/");
	url->path = decode(text + before, strlen(text + before));
	text[before] = 0;
	if (cut_user(&text, url, t) < 0)
		return -1;
	if (*text || !url->path || !url->path[0] || !url->path[1])
		return bad(t, "the socket's path does not begin with a slash, or is none");
	return 0;
}

int redis_url_parse(const char *text, struct redis_url *url, struct trouble *t)
{
	static const struct {
		const char *scheme;
		int (*parse)(char *rest, struct redis_url *url, struct trouble *t);
		bool tls;
	} schemes[] = { { "redis://", parse_tcp, false },
			{ "rediss://", parse_tcp, true },
			{ "unix://", parse_unix, false } };

	redis_url_free(url);
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		size_t length = strlen(schemes[i].scheme);
		char *rest;
		int status;

		if (strncmp(text, schemes[i].scheme, length))
			continue;
		rest = xstrdup(text + length);
		*url = (struct redis_url){ .given = true, .tls = schemes[i].tls, .db = -1 };
		status = schemes[i].parse(rest, url, t);
		free(rest);
		if (status < 0)
			redis_url_free(url);
		return status;
	}
	return bad(t, "an unknown scheme");
}

void redis_url_free(struct redis_url *url)
{
	free(url->host);
	free(url->path);
	free(url->user);
	free(url->password);
	*url = (struct redis_url){ .db = -1 };
}
