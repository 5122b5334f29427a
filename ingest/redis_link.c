/* redis_link: hiredis' connect, and what the server sends and takes, by hiredis or by redis_tls. */
#include "ingest/redis_link.h"

#include <errno.h>
#include <fcntl.h>
#include <hiredis/sds.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "ingest/redis_tls.h"
#include "sql/mem.h"

/* One attempt; a longer wait is made of several, so that a stop is noticed between them. */
enum { ATTEMPT_US = 5000000 };

static enum link_result connect_trouble(const struct redis_config *redis, int error, const char *said,
					struct trouble *t)
{
	if (error == ETIMEDOUT || error == EINPROGRESS || error == EAGAIN) {
		trouble_set(t, "cannot connect: timed out: is a firewall in between?");
		return LINK_UNREACHABLE;
	}
	if (error == ECONNREFUSED && redis->path)
		trouble_set(t, "cannot connect: %s: does redis-server still run?", said);
	else if (error == ECONNREFUSED)
		trouble_set(t,
			    "cannot connect: %s: does redis-server run there, and listen on this address (bind, "
			    "protected-mode)?",
			    said);
	else if (error == ENOENT && redis->path)
		trouble_set(t, "cannot connect: %s: is that the path of its unixsocket?", said);
	else
		trouble_set(t, "cannot connect: %s", said);
	return LINK_UNREACHABLE;
}

static redisContext *dial(const struct redis_config *redis, int64_t timeout_us)
{
	struct timeval tv = { .tv_sec = timeout_us / 1000000, .tv_usec = timeout_us % 1000000 };

	return redis->path ? redisConnectUnixWithTimeout(redis->path, tv)
			   : redisConnectWithTimeout(redis->host, redis->port, tv);
}

/* From here on reads and writes return at once; hiredis then takes EAGAIN as "later". */
static void never_block(redisContext *link)
{
	int flags = fcntl(link->fd, F_GETFL);

	fcntl(link->fd, F_SETFL, flags | O_NONBLOCK);
	link->flags &= ~REDIS_BLOCK;
}

void redis_link_close(struct redis_link *link)
{
	if (!link)
		return;
	redis_tls_close(link->tls);
	if (link->context)
		redisFree(link->context);
	free(link);
}

static enum link_result connect_link(const struct redis_config *redis, int64_t timeout_us, struct redis_link *link,
				     struct trouble *t)
{
	redisContext *made;
	int error;

	if (redis->tls && !redis_tls_built())
		return redis_tls_open(redis, -1, timeout_us, &link->tls, t);
	errno = 0;
	link->context = made = dial(redis, timeout_us);
	error = errno;
	if (!made || made->err)
		return connect_trouble(redis, error, made ? made->errstr : strerror(error), t);
	link->reader = made->reader;
	link->fd = made->fd;
	return redis->tls ? redis_tls_open(redis, link->fd, timeout_us, &link->tls, t) : LINK_UP;
}

enum link_result redis_link_open(const struct redis_config *redis, int64_t timeout_us, struct redis_link **link,
				 struct trouble *t)
{
	struct redis_link *made = xalloc(sizeof(*made));
	enum link_result result = connect_link(redis, timeout_us < ATTEMPT_US ? timeout_us : ATTEMPT_US, made, t);

	*link = NULL;
	if (result != LINK_UP) {
		redis_link_close(made);
		return result;
	}
	if (redis->host)
		redisEnableKeepAlive(made->context);
	never_block(made->context);
	*link = made;
	return LINK_UP;
}

/* A server that does not know what it was sent hangs up, and so does one that wants TLS. */
static enum link_result lost(const struct redis_link *link, const char *why, struct trouble *t)
{
	if (link->heard) {
		trouble_set(t, "the connection broke: %s", why);
		return LINK_AGAIN;
	}
	if (link->tls)
		return redis_tls_unheard(link->tls, why, t);
	trouble_set(t,
		    "the connection broke before the server said anything: %s: is that its port, and does it want "
		    "TLS there (rediss://)?",
		    why);
	return LINK_UNREACHABLE;
}

/* As large as a record of TLS may be, so that nothing is left in OpenSSL of which poll does not know. */
enum { READ_ROOM = 16 << 10 };

static enum link_result read_encrypted(struct redis_link *link, struct trouble *t)
{
	char buffer[READ_ROOM];
	const char *why = NULL;
	int size = redis_tls_read(link->tls, buffer, sizeof(buffer), &why);

	if (size > 0 && redisReaderFeed(link->reader, buffer, (size_t)size) != REDIS_OK)
		xarray(SIZE_MAX, SIZE_MAX); /* its only failure is memory */
	return size < 0 ? lost(link, why, t) : LINK_UP;
}

enum link_result redis_link_read(struct redis_link *link, struct trouble *t)
{
	enum link_result result = LINK_UP;
	size_t before = link->reader->len;

	if (link->tls)
		result = read_encrypted(link, t);
	else if (redisBufferRead(link->context) != REDIS_OK)
		result = lost(link, link->context->errstr, t);
	link->heard = link->heard || link->reader->len != before;
	return result;
}

/* Of what is to be sent, the first size bytes are. */
static void sent(redisContext *context, size_t size)
{
	size_t left = sdslen(context->obuf) - size;

	memmove(context->obuf, context->obuf + size, left);
	sdssetlen(context->obuf, left);
	context->obuf[left] = '\0';
}

static enum link_result write_encrypted(struct redis_link *link, struct trouble *t)
{
	sds out = link->context->obuf;
	size_t all = sdslen(out), done = 0;
	const char *why = NULL;
	int size = 1;

	while (done < all && size > 0) {
		size = redis_tls_write(link->tls, out + done, all - done, &why);
		done += size > 0 ? (size_t)size : 0;
	}
	sent(link->context, done);
	return size < 0 ? lost(link, why, t) : LINK_UP;
}

enum link_result redis_link_write(struct redis_link *link, bool *done, struct trouble *t)
{
	int all = 0;

	if (!link->tls && redisBufferWrite(link->context, &all) != REDIS_OK)
		return lost(link, link->context->errstr, t);
	if (link->tls) {
		enum link_result result = write_encrypted(link, t);

		if (result != LINK_UP)
			return result;
		all = sdslen(link->context->obuf) == 0;
	}
	*done = all;
	return LINK_UP;
}
