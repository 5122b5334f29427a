/*
 * redis_tls: TLS over the socket of a Redis connection, by OpenSSL itself, because not every hiredis has it.
 *
 * Trusted is what tls.ca has, or else what OpenSSL trusts (SSL_CERT_FILE, SSL_CERT_DIR or the system's authorities),
 * and the certificate must have tls.name, or else name the host or address that was dialled. What OpenSSL's
 * configuration file (OPENSSL_CONF) says under the name `fencepost` in its ssl_conf is applied to every connection:
 * ciphers, and the client's certificate and other authorities where the redis section has none. The files are read
 * anew for each connection. Nobody is ever asked for the pass phrase of a key.
 */
#ifndef INGEST_REDIS_TLS_H
#define INGEST_REDIS_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ingest/redis_link.h"

struct redis_tls;

/* Whether this build has TLS. Where it has not, redis_tls_open refuses, in words that name a tunnel. */
bool redis_tls_built(void);

/*
 * Shakes hands over a connected socket that blocks; each wait of it is at most timeout_us. The socket stays the
 * caller's, and open for as long as *tls, which redis_tls_close frees; redis stays the caller's for as long, too.
 */
enum link_result redis_tls_open(const struct redis_config *redis, int fd, int64_t timeout_us, struct redis_tls **tls,
				struct trouble *t);

/* As many bytes as were read or written; 0 not now; -1 the connection is lost, *why says why (borrowed, static). */
int redis_tls_read(struct redis_tls *tls, void *at, size_t size, const char **why);
int redis_tls_write(struct redis_tls *tls, const void *at, size_t size, const char **why);

/*
 * The words for a connection that broke, with why, before the server said anything. Since TLS 1.3 a server judges the
 * client's certificate only after the client's handshake is done, and what it says then may not arrive.
 */
enum link_result redis_tls_unheard(const struct redis_tls *tls, const char *why, struct trouble *t);

/* tls may be NULL. */
void redis_tls_close(struct redis_tls *tls);

#endif
