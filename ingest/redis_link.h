/*
 * redis_link: makes the socket of a Redis connection, plain, unix or TLS, and says why it cannot.
 */
#ifndef INGEST_REDIS_LINK_H
#define INGEST_REDIS_LINK_H

#include <hiredis/hiredis.h>
#include <stdint.h>

#include "ingest/config.h"
#include "sql/trouble.h"

enum link_result {
	LINK_UP,
	LINK_AGAIN,       /* lost, or the server is not ready: worth another try */
	LINK_UNREACHABLE, /* nobody answers at the address */
	LINK_REFUSED,     /* trying again will not help */
};

/*
 * Connects within timeout_us, or a few seconds if that is less. The socket never blocks afterwards. The caller frees
 * *link with redisFree.
 */
enum link_result redis_link_open(const struct redis_config *redis, int64_t timeout_us, redisContext **link,
				 struct trouble *t);

#endif
