/* config_digest: over libcrypto. */
#include "ingest/config_digest.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/template.h"
#include "sql/keytext.h"
#include "sql/mem.h"

void digest_bytes(const void *bytes, size_t size, char hex[65])
{
	unsigned char digest[32];

	/* libcrypto fails here when it has no memory, or no SHA-256, which no build lacks. */
	if (!EVP_Digest(bytes, size, digest, NULL, EVP_sha256(), NULL))
		memset(digest, 0, sizeof(digest));
	keyhex_write(digest, sizeof(digest), hex);
}

void digest_texts(const char *const *texts, size_t count, char hex[65])
{
	struct buffer all = { 0 };

	for (size_t i = 0; i < count; i++) {
		buffer_add(&all, texts[i] ? "+" : "-", 1);
		buffer_add(&all, texts[i] ? texts[i] : "", texts[i] ? strlen(texts[i]) + 1 : 1);
	}
	digest_bytes(all.data, all.size, hex);
	buffer_release(&all);
}
