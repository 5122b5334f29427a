/*
 * redis_link: the socket of a Redis connection, plain, unix or TLS. Makes it, moves bytes, and says why it cannot.
 */
#ifndef INGEST_REDIS_LINK_H
#define INGEST_REDIS_LINK_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

#include "ingest/config.h"
#include "sql/trouble.h"

enum link_result {
	LINK_UP,
	LINK_AGAIN,       /* lost, or the server is not ready: worth another try */
	LINK_UNREACHABLE, /* nobody answers at the address */
	LINK_REFUSED,     /* trying again will not help */
};

/* What is received goes into reader, what is to be sent into context's buffer. */
struct redis_link {
	redisReader *reader; /* context's */
	int fd;              /* likewise */
	redisContext *context;
	struct redis_tls *tls; /* NULL: not encrypted */
	bool heard;            /* the server has said something */
};

/*
 * Connects within timeout_us, or a few seconds if that is less. The socket never blocks afterwards. The caller frees
 * *link with redis_link_close.
 */
enum link_result redis_link_open(const struct redis_config *redis, int64_t timeout_us, struct redis_link **link,
				 struct trouble *t);

/* link may be NULL. */
void redis_link_close(struct redis_link *link);

/*
 * Takes what the server has sent so far, if anything. LINK_UP, or the connection is lost, t says why, and the result
 * what there is to hope for: LINK_AGAIN where the server had spoken before.
 */
enum link_result redis_link_read(struct redis_link *link, struct trouble *t);

/* Sends what can be sent now; *done: all of it was. Results as of redis_link_read. */
enum link_result redis_link_write(struct redis_link *link, bool *done, struct trouble *t);

#endif
