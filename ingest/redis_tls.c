/* redis_tls: what OpenSSL is told, and what its errors mean to who has to mend them. */
#include "ingest/redis_tls.h"

#ifdef HAVE_LIBSSL
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "sql/mem.h"

/* Reasons from here on are alerts: the server's words. */
enum { FIRST_ALERT = SSL_AD_REASON_OFFSET };

struct redis_tls {
	const struct redis_config *redis; /* borrowed */
	SSL *ssl;
	bool asked;        /* the server asked for the client's certificate */
	bool phrase_asked; /* OpenSSL asked for the pass phrase of a key */
};

static const char closed[] = "the server closed the connection";

bool redis_tls_built(void)
{
	return true;
}

/* --- the client --------------------------------------------------------------------------------------------------- */

/* What an error of OpenSSL is called; NULL where it has no name. */
static const char *reason_of(unsigned long error)
{
	return ERR_GET_LIB(error) == ERR_LIB_SYS ? strerror(ERR_GET_REASON(error)) : ERR_reason_error_string(error);
}

/* What the newest one is called. */
static const char *last_reason(void)
{
	const char *reason = reason_of(ERR_peek_last_error());

	return reason ? reason : "no reason given";
}

/* For the pass phrase of a key, instead of OpenSSL's question on the terminal. */
static int no_phrase(char *into, int size, int writing, void *tls)
{
	(void)into;
	(void)size;
	(void)writing;
	((struct redis_tls *)tls)->phrase_asked = true;
	return -1;
}

static const char encrypted[] = "it is encrypted with a pass phrase, and nobody is asked for one: give a key without";

/* 0; -1 the configuration file has a section for this program, and it cannot be obeyed. */
static int obey_file(const struct redis_tls *tls, SSL_CTX *context, struct trouble *t)
{
	static const char section[] = "TLS: section fencepost of OpenSSL's configuration file (OPENSSL_CONF)";
	const char *data = NULL, *reason;
	unsigned long error;
	int flags = 0;

	ERR_clear_error();
	if (SSL_CTX_config(context, "fencepost"))
		return 0;
	if (tls->phrase_asked)
		return trouble_set(t, "%s: its PrivateKey: %s", section, encrypted);
	error = ERR_peek_error_data(&data, &flags); /* the first says it best: "No such file", "fopen(client.pem, r)" */
	if (ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) == SSL_R_INVALID_CONFIGURATION_NAME)
		return 0; /* there is none */
	reason = error ? reason_of(error) : NULL;
	return trouble_set(t, "%s: %s%s%s", section,
			   reason ? reason : "a command that OpenSSL does not know or cannot obey",
			   flags & ERR_TXT_STRING ? ": " : "", flags & ERR_TXT_STRING ? data : "");
}

static SSL_CTX *new_context(struct redis_tls *tls, struct trouble *t)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());

	if (!context) {
		trouble_set(t, "TLS: OpenSSL gives no client: %s", last_reason());
		return NULL;
	}
	SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
	SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_default_verify_paths(context);
	SSL_CTX_set_default_passwd_cb(context, no_phrase);
	SSL_CTX_set_default_passwd_cb_userdata(context, tls);
	if (obey_file(tls, context, t) < 0) {
		SSL_CTX_free(context);
		return NULL;
	}
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	return context;
}

static int note_asked(SSL *ssl, void *tls)
{
	(void)ssl;
	((struct redis_tls *)tls)->asked = true;
	return 1;
}

static const char *expected_name(const struct redis_config *redis)
{
	return redis->tls_settings.name ? redis->tls_settings.name : redis->host;
}

/* The server's certificate must have the name; an address is none to ask for (SNI). */
static bool expect_name(SSL *ssl, const char *name)
{
	if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name))
		return true;
	return SSL_set1_host(ssl, name) && SSL_set_tlsext_host_name(ssl, name);
}

/* --- the files of the redis section ------------------------------------------------------------------------------- */

/*
 * what: that OpenSSL did not find. Of its errors the oldest tells most: "No such file or directory", where the newest is
 * "system lib". Always -1.
 */
static int bad_file(const char *key, const char *path, const char *what, struct trouble *t)
{
	unsigned long error = ERR_peek_error();
	const char *reason = reason_of(error);

	if (ERR_GET_LIB(error) == ERR_LIB_SYS)
		return trouble_set(t, "TLS: %s: cannot read %s: %s", key, path, reason);
	return trouble_set(t, "TLS: %s: %s has no %s in PEM that OpenSSL takes: %s", key, path, what,
			   reason ? reason : "no reason given");
}

static int bad_key(const struct redis_tls *tls, const struct tls_settings *settings, struct trouble *t)
{
	if (tls->phrase_asked)
		return trouble_set(t, "TLS: tls.key: %s: %s", settings->key, encrypted);
	if (ERR_GET_LIB(ERR_peek_error()) == ERR_LIB_X509) /* of the same kind as the certificate's, and another */
		return trouble_set(t, "TLS: tls.key: %s is not the key of the certificate in %s: %s", settings->key,
				   settings->cert, last_reason());
	return bad_file("tls.key", settings->key, "key", t);
}

/* Whom to trust, instead of all others. */
static int load_ca(const struct redis_tls *tls, const char *path, struct trouble *t)
{
	X509_STORE *store = X509_STORE_new();
	int status = -1;

	ERR_clear_error();
	if (!store || !X509_STORE_load_locations(store, path, NULL))
		bad_file("tls.ca", path, "certificate", t);
	else if (!SSL_set1_verify_cert_store(tls->ssl, store) || !SSL_set1_chain_cert_store(tls->ssl, store))
		trouble_set(t, "TLS: tls.ca: %s", last_reason());
	else
		status = 0;
	X509_STORE_free(store); /* the client keeps it */
	return status;
}

/* Who we are, instead of what OpenSSL's configuration file says. */
static int load_cert(const struct redis_tls *tls, const struct tls_settings *settings, struct trouble *t)
{
	SSL_certs_clear(tls->ssl);
	ERR_clear_error();
	if (SSL_use_certificate_chain_file(tls->ssl, settings->cert) != 1)
		return bad_file("tls.cert", settings->cert, "certificate", t);
	ERR_clear_error();
	if (SSL_use_PrivateKey_file(tls->ssl, settings->key, SSL_FILETYPE_PEM) != 1)
		return bad_key(tls, settings, t);
	if (SSL_check_private_key(tls->ssl) != 1)
		return trouble_set(t, "TLS: tls.key: %s is not the key of the certificate in %s: of another kind",
				   settings->key, settings->cert);
	return 0;
}

static int load_files(struct redis_tls *tls, struct trouble *t)
{
	const struct tls_settings *settings = &tls->redis->tls_settings;

	SSL_set_default_passwd_cb(tls->ssl, no_phrase);
	SSL_set_default_passwd_cb_userdata(tls->ssl, tls);
	if (settings->ca && load_ca(tls, settings->ca, t) < 0)
		return -1;
	return settings->cert ? load_cert(tls, settings, t) : 0;
}

static int prepare(struct redis_tls *tls, int fd, struct trouble *t)
{
	SSL_CTX *context = new_context(tls, t);

	if (!context)
		return -1;
	tls->ssl = SSL_new(context);
	SSL_CTX_free(context); /* the client keeps it */
	if (!tls->ssl || !SSL_set_fd(tls->ssl, fd) || !expect_name(tls->ssl, expected_name(tls->redis)))
		return trouble_set(t, "TLS: %s", last_reason());
	SSL_set_cert_cb(tls->ssl, note_asked, tls);
	return load_files(tls, t);
}

/* --- words -------------------------------------------------------------------------------------------------------- */

static void unknown_authority(const char *why, const char *ca, struct trouble *t)
{
	if (ca)
		trouble_set(t,
			    "TLS: the server's certificate is not trusted: %s; tls.ca, %s, must have its authority "
			    "and nothing else counts",
			    why, ca);
	else
		trouble_set(t,
			    "TLS: the server's certificate is not trusted: %s; tls.ca or SSL_CERT_FILE may name the "
			    "file of its authority",
			    why);
}

static enum link_result untrusted(long verified, const struct redis_config *redis, struct trouble *t)
{
	const char *why = X509_verify_cert_error_string(verified);

	switch (verified) {
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		trouble_set(t,
			    "TLS: the server's certificate does not name %s: write in url, or else in tls.name, a name "
			    "that it has",
			    expected_name(redis));
		break;
	case X509_V_ERR_CERT_HAS_EXPIRED:
	case X509_V_ERR_CERT_NOT_YET_VALID:
		trouble_set(t,
			    "TLS: the server's certificate is not valid now: %s; it must be renewed, if this host's "
			    "clock is right",
			    why);
		break;
	default: unknown_authority(why, redis->tls_settings.ca, t);
	}
	return LINK_REFUSED;
}

static enum link_result certificate_trouble(const struct redis_tls *tls, const char *why, struct trouble *t)
{
	if (SSL_get_certificate(tls->ssl))
		trouble_set(t,
			    "TLS: the server does not take this client's certificate: %s; its tls-ca-cert-file must "
			    "have the authority that signed it",
			    why);
	else
		trouble_set(t,
			    "TLS: the server demands a client's certificate (its tls-auth-clients), and there is none: "
			    "%s; valid: tls.cert and tls.key",
			    why);
	return LINK_REFUSED;
}

enum link_result redis_tls_unheard(const struct redis_tls *tls, const char *why, struct trouble *t)
{
	if (tls->asked)
		return certificate_trouble(tls, why, t);
	trouble_set(t, "TLS: the connection broke before the server said anything: %s", why);
	return LINK_UNREACHABLE;
}

/* Whether the other side answered with what is no TLS at all. */
static bool is_no_tls(int reason)
{
	return reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST ||
	       reason == SSL_R_PACKET_LENGTH_TOO_LONG || reason == SSL_R_RECORD_LENGTH_MISMATCH;
}

/* error: SSL_get_error's; number: errno. */
static enum link_result handshake_trouble(const struct redis_tls *tls, int error, int number, struct trouble *t)
{
	static const char no_tls[] = "does it speak TLS on this port (tls-port), or is it redis:// there?";
	long verified = SSL_get_verify_result(tls->ssl);
	int reason = ERR_GET_REASON(ERR_peek_last_error());

	if (verified != X509_V_OK)
		return untrusted(verified, tls->redis, t);
	if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
		trouble_set(t, "TLS: the server does not answer the handshake: %s", no_tls);
		return LINK_UNREACHABLE;
	}
	if (error == SSL_ERROR_SSL && is_no_tls(reason)) {
		trouble_set(t, "TLS: the server's answer to the handshake is no TLS: %s", no_tls);
		return LINK_REFUSED;
	}
	if (error == SSL_ERROR_SSL && reason >= FIRST_ALERT && tls->asked)
		return certificate_trouble(tls, last_reason(), t);
	if (error == SSL_ERROR_SSL && reason != SSL_R_UNEXPECTED_EOF_WHILE_READING) {
		trouble_set(t, "TLS: the handshake failed: %s", last_reason());
		return LINK_REFUSED;
	}
	return redis_tls_unheard(tls, number ? strerror(number) : closed, t);
}

/* --- the connection ----------------------------------------------------------------------------------------------- */

static void wait_at_most(int fd, int64_t us)
{
	struct timeval tv = { .tv_sec = us / 1000000, .tv_usec = us % 1000000 };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
}

enum link_result redis_tls_open(const struct redis_config *redis, int fd, int64_t timeout_us, struct redis_tls **tls,
				struct trouble *t)
{
	struct redis_tls *made = xalloc(sizeof(*made));
	enum link_result result = LINK_REFUSED;
	int done;

	*tls = NULL;
	made->redis = redis;
	if (prepare(made, fd, t) == 0) {
		wait_at_most(fd, timeout_us);
		do {
			ERR_clear_error();
			errno = 0;
			done = SSL_connect(made->ssl);
		} while (done != 1 && errno == EINTR);
		result = done == 1 ? LINK_UP : handshake_trouble(made, SSL_get_error(made->ssl, done), errno, t);
	}
	if (result == LINK_UP)
		*tls = made;
	else
		redis_tls_close(made);
	return result;
}

/* What a result of SSL_read or SSL_write means: as redis_tls_read. */
static int outcome(struct redis_tls *tls, int result, const char **why)
{
	int error = result > 0 ? SSL_ERROR_NONE : SSL_get_error(tls->ssl, result), number = errno;

	switch (error) {
	case SSL_ERROR_NONE: return result;
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE: return 0;
	case SSL_ERROR_SYSCALL: *why = number ? strerror(number) : closed; return -1;
	case SSL_ERROR_SSL:
		*why = ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING ? closed
												   : last_reason();
		return -1;
	default: *why = closed; return -1;
	}
}

int redis_tls_read(struct redis_tls *tls, void *at, size_t size, const char **why)
{
	ERR_clear_error();
	errno = 0;
	return outcome(tls, SSL_read(tls->ssl, at, (int)size), why);
}

int redis_tls_write(struct redis_tls *tls, const void *at, size_t size, const char **why)
{
	ERR_clear_error();
	errno = 0;
	return outcome(tls, SSL_write(tls->ssl, at, (int)(size < INT32_MAX ? size : INT32_MAX)), why);
}

void redis_tls_close(struct redis_tls *tls)
{
	if (!tls)
		return;
	SSL_free(tls->ssl);
	free(tls);
}
#else
#include <arpa/inet.h>
#include <stdlib.h>

#include "sql/mem.h"

/* A build without OpenSSL's libssl: the socket can still be had from a tunnel. */
bool redis_tls_built(void)
{
	return false;
}

enum link_result redis_tls_open(const struct redis_config *redis, int fd, int64_t timeout_us, struct redis_tls **tls,
				struct trouble *t)
{
	const struct tls_settings *with = &redis->tls_settings;
	const char *name = with->name ? with->name : redis->host;
	char *who = with->cert ? xprintf("cert=%s\\nkey=%s\\n", with->cert, with->key) : xstrdup("");
	uint8_t address[16];
	bool is_address = inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;

	(void)fd;
	(void)timeout_us;
	*tls = NULL;
	trouble_set(t,
		    "rediss://: this build has no TLS. Run a tunnel and use redis://127.0.0.1:16379, without tls.*: "
		    "printf "
		    "'foreground=yes\\npid=\\n[redis]\\nclient=yes\\naccept=127.0.0.1:16379\\nconnect=%s:%"
		    "d\\nverifyChain=yes\\n"
		    "%s=%s\\n%s=%s\\n%s' | stunnel -fd 0",
		    redis->host, redis->port, with->ca ? "CAfile" : "CApath", with->ca ? with->ca : "/etc/ssl/certs",
		    is_address ? "checkIP" : "checkHost", name, who);
	free(who);
	return LINK_REFUSED;
}

int redis_tls_read(struct redis_tls *tls, void *at, size_t size, const char **why)
{
	(void)tls;
	(void)at;
	(void)size;
	*why = "no TLS";
	return -1;
}

int redis_tls_write(struct redis_tls *tls, const void *at, size_t size, const char **why)
{
	(void)tls;
	(void)at;
	(void)size;
	*why = "no TLS";
	return -1;
}

enum link_result redis_tls_unheard(const struct redis_tls *tls, const char *why, struct trouble *t)
{
	(void)tls;
	trouble_set(t, "%s", why);
	return LINK_REFUSED;
}

void redis_tls_close(struct redis_tls *tls)
{
	(void)tls;
}
#endif
