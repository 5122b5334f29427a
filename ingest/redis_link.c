/* redis_link: hiredis' connect, and its TLS where this build has it. */
#include "ingest/redis_link.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/time.h>

#ifdef HAVE_HIREDIS_SSL
#include <hiredis/hiredis_ssl.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#endif

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

#ifdef HAVE_HIREDIS_SSL
static int tls_trouble(SSL *ssl, const redisContext *link, struct trouble *t)
{
	long verified = ssl ? SSL_get_verify_result(ssl) : X509_V_OK;

	if (verified != X509_V_OK)
		return trouble_set(
			t, "TLS: the server's certificate is not trusted: %s; SSL_CERT_FILE may name its authority",
			X509_verify_cert_error_string(verified));
	return trouble_set(t, "TLS: %s", link->err ? link->errstr : "no memory for it");
}

/*
 * A client that trusts what the system trusts, and wants the certificate to name the host or address that was dialled.
 */
static SSL *new_client(const char *host)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	SSL *ssl = NULL;
	bool is_address;

	if (!context)
		return NULL;
	SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	if (SSL_CTX_set_default_verify_paths(context))
		ssl = SSL_new(context);
	SSL_CTX_free(context); /* the client keeps it */
	if (!ssl)
		return NULL;
	is_address = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host);
	if (is_address || (SSL_set1_host(ssl, host) && SSL_set_tlsext_host_name(ssl, host)))
		return ssl;
	SSL_free(ssl);
	return NULL;
}

static enum link_result encrypt(const struct redis_config *redis, redisContext *link, struct trouble *t)
{
	struct timeval tv = { .tv_sec = ATTEMPT_US / 1000000 };
	SSL *ssl = new_client(redis->host);

	redisSetTimeout(link, tv); /* of the handshake, which blocks */
	if (ssl && redisInitiateSSL(link, ssl) == REDIS_OK)
		return LINK_UP;
	tls_trouble(ssl, link, t);
	SSL_free(ssl);
	return LINK_REFUSED;
}
#else
static enum link_result encrypt(const struct redis_config *redis, redisContext *link, struct trouble *t)
{
	(void)link;
	trouble_set(t,
		    "rediss://: this build has no TLS (hiredis without hiredis_ssl). Run a tunnel and use "
		    "redis://127.0.0.1:16379: "
		    "printf "
		    "'foreground=yes\\npid=\\n[redis]\\nclient=yes\\naccept=127.0.0.1:16379\\nconnect=%s:%"
		    "d\\nverifyChain=yes\\n"
		    "CApath=/etc/ssl/certs\\ncheckHost=%s\\n' | stunnel -fd 0",
		    redis->host, redis->port, redis->host);
	return LINK_REFUSED;
}
#endif

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

enum link_result redis_link_open(const struct redis_config *redis, int64_t timeout_us, redisContext **link,
				 struct trouble *t)
{
	enum link_result result = LINK_UP;
	redisContext *made;
	int error;

	*link = NULL;
#ifndef HAVE_HIREDIS_SSL
	if (redis->tls)
		return encrypt(redis, NULL, t);
#endif
	errno = 0;
	made = dial(redis, timeout_us < ATTEMPT_US ? timeout_us : ATTEMPT_US);
	error = errno;
	if (!made || made->err)
		result = connect_trouble(redis, error, made ? made->errstr : strerror(error), t);
	else if (redis->tls)
		result = encrypt(redis, made, t);
	if (result != LINK_UP) {
		if (made)
			redisFree(made);
		return result;
	}
	if (redis->host)
		redisEnableKeepAlive(made);
	never_block(made);
	*link = made;
	return LINK_UP;
}
