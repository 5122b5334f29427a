/* outfile: temporary name, zstd, SHA-256, fsync, rename. */
#include "reports/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "sql/faultpoint.h"
#include "sql/mem.h"

/* The level is part of the format: the same bytes for the same findings (and the same libzstd). */
enum { LEVEL = 3, BUFFER = 128 << 10 };

struct outfile {
	char *path, *temporary;
	int fd;
	ZSTD_CCtx *zstd; /* NULL: plain */
	EVP_MD_CTX *hash, *content_hash;
	int64_t bytes, content_bytes;
	size_t filled;
	struct trouble trouble; /* the first one */
	uint8_t in[BUFFER], out[BUFFER];
};

static void fail(struct outfile *out, const char *what, const char *why)
{
	if (!out->trouble.text[0])
		trouble_set(&out->trouble, "write %s: %s: %s", out->path, what, why);
}

/*
 * --- to the disk ----------------------------------------------------------------------------------------------------

 */

static void put_file(struct outfile *out, const uint8_t *bytes, size_t size)
{
	if (!EVP_DigestUpdate(out->hash, bytes, size))
		fail(out, "SHA-256", "failed");
	out->bytes += (int64_t)size;
	while (size && !out->trouble.text[0]) {
		ssize_t wrote = FAULT(REPORT_WRITE) ? (errno = ENOSPC, -1) : write(out->fd, bytes, size);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0) {
			fail(out, "write", wrote ? strerror(errno) : "nothing was written");
			return;
		}
		bytes += wrote;
		size -= (size_t)wrote;
	}
}

/* Gives the buffered content to zstd; end: the frame ends here. */
static void compress(struct outfile *out, bool end)
{
	ZSTD_inBuffer in = { out->in, out->filled, 0 };
	size_t left;

	do {
		ZSTD_outBuffer to = { out->out, sizeof(out->out), 0 };

		left = ZSTD_compressStream2(out->zstd, &to, &in, end ? ZSTD_e_end : ZSTD_e_continue);
		if ((end && FAULT(REPORT_ZSTD)) || ZSTD_isError(left)) {
			fail(out, "zstd", ZSTD_getErrorName(left));
			return;
		}
		put_file(out, out->out, to.pos);
	} while ((end ? left > 0 : in.pos < in.size) && !out->trouble.text[0]);
}

static void drain(struct outfile *out, bool end)
{
	if (!EVP_DigestUpdate(out->content_hash, out->in, out->filled))
		fail(out, "SHA-256", "failed");
	out->content_bytes += (int64_t)out->filled;
	if (out->zstd)
		compress(out, end);
	else
		put_file(out, out->in, out->filled);
	out->filled = 0;
}

/*
 * --- life -----------------------------------------------------------------------------------------------------------

 */

static EVP_MD_CTX *new_hash(struct outfile *out)
{
	EVP_MD_CTX *hash = EVP_MD_CTX_new();

	if (!hash || !EVP_DigestInit_ex(hash, EVP_sha256(), NULL))
		fail(out, "SHA-256", "not available");
	return hash;
}

static void set_up_zstd(struct outfile *out)
{
	out->zstd = ZSTD_createCCtx();
	if (!out->zstd || ZSTD_isError(ZSTD_CCtx_setParameter(out->zstd, ZSTD_c_compressionLevel, LEVEL)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(out->zstd, ZSTD_c_checksumFlag, 1)))
		fail(out, "zstd", "not available");
}

/* The process id keeps two programs that write the same file apart; a file of that name is a dead one's. */
static void create(struct outfile *out)
{
	struct stat there;

	out->fd = -1;
	/* A rename would put a file where a device or a pipe is. */
	if (stat(out->path, &there) == 0 && !S_ISREG(there.st_mode)) {
		fail(out, "create", "in the way, and not a file");
		return;
	}
	out->temporary = xprintf("%s.tmp-%ld", out->path, (long)getpid());
	out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (out->fd < 0 && errno == EEXIST && !unlink(out->temporary))
		out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (out->fd < 0)
		fail(out, "create", strerror(errno));
}

static void release(struct outfile *out)
{
	if (out->fd >= 0)
		close(out->fd);
	ZSTD_freeCCtx(out->zstd);
	EVP_MD_CTX_free(out->hash);
	EVP_MD_CTX_free(out->content_hash);
	free(out->path);
	free(out->temporary);
	free(out);
}

void outfile_abandon(struct outfile *out)
{
	if (!out)
		return;
	if (out->fd >= 0)
		unlink(out->temporary);
	release(out);
}

struct outfile *outfile_open(const char *path, enum outfile_form form, struct trouble *t)
{
	struct outfile *out = xalloc(sizeof(*out));

	out->path = xstrdup(path);
	create(out);
	out->hash = new_hash(out);
	out->content_hash = new_hash(out);
	if (form == OUTFILE_ZSTD)
		set_up_zstd(out);
	if (!out->trouble.text[0])
		return out;
	trouble_set(t, "%s", out->trouble.text);
	outfile_abandon(out);
	return NULL;
}

static void finish_hash(struct outfile *out, EVP_MD_CTX *hash, char *hex)
{
	uint8_t digest[EVP_MAX_MD_SIZE];

	if (!EVP_DigestFinal_ex(hash, digest, NULL)) {
		fail(out, "SHA-256", "failed");
		return;
	}
	for (int i = 0; i < 32; i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

static void flush_and_name(struct outfile *out)
{
	if (out->trouble.text[0])
		return;
	if (FAULT(REPORT_FSYNC) || fsync(out->fd) < 0)
		fail(out, "fsync", strerror(errno));
	if (close(out->fd) < 0 || FAULT(REPORT_CLOSE))
		fail(out, "close", strerror(errno));
	out->fd = -1;
	if (!out->trouble.text[0] && (FAULT(REPORT_RENAME) || rename(out->temporary, out->path) < 0))
		fail(out, "rename", strerror(errno));
	if (out->trouble.text[0])
		unlink(out->temporary);
}

int outfile_commit(struct outfile *out, struct outfile_sum *sum, struct trouble *t)
{
	struct outfile_sum unused;
	int result;

	if (!sum)
		sum = &unused;
	drain(out, true);
	finish_hash(out, out->hash, sum->sha256);
	finish_hash(out, out->content_hash, sum->content_sha256);
	sum->bytes = out->bytes;
	sum->content_bytes = out->content_bytes;
	flush_and_name(out);
	result = out->trouble.text[0] ? trouble_set(t, "%s", out->trouble.text) : 0;
	outfile_abandon(out);
	return result;
}

/*
 * --- content --------------------------------------------------------------------------------------------------------

 */

void outfile_write(struct outfile *out, const void *bytes, size_t size)
{
	const uint8_t *from = bytes;

	while (size && !out->trouble.text[0]) {
		size_t part = BUFFER - out->filled;

		if (part > size)
			part = size;
		memcpy(out->in + out->filled, from, part);
		out->filled += part;
		from += part;
		size -= part;
		if (out->filled == BUFFER)
			drain(out, false);
	}
}

void outfile_text(struct outfile *out, const char *text)
{
	outfile_write(out, text, strlen(text));
}

void outfile_format(struct outfile *out, const char *format, ...)
{
	va_list args;
	char *text = NULL;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		fail(out, "format", "out of memory");
	else
		outfile_write(out, text, (size_t)length);
	free(length < 0 ? NULL : text);
}

static int put_json(const char *bytes, size_t size, void *context)
{
	outfile_write(context, bytes, size);
	return 0;
}

void outfile_json(struct outfile *out, const json_t *value, size_t flags)
{
	if (json_dump_callback(value, put_json, out, flags) < 0)
		fail(out, "JSON", "cannot be written");
}

int outfile_sync_directory(const char *path, struct trouble *t)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int result = 0;

	if (fd < 0)
		return trouble_set(t, "open directory %s: %s", path, strerror(errno));
	if (FAULT(REPORT_SYNC) || fsync(fd) < 0)
		result = trouble_set(t, "fsync directory %s: %s", path, strerror(errno));
	close(fd);
	return result;
}
