/*
 * The hashes and reductions behind the list of partitioners. Sources of the formulas: the clients' own code, as
 * listed with who uses them; tests hold them against vectors, librdkafka and Kafka's Java code.
 */
#include "sql/partitioner.h"

#include <xxhash.h>

#include "sql/utf8.h"

static bool hash_murmur2(const uint8_t *key, size_t len, uint32_t *hash)
{
	*hash = murmur2(key, len);
	return true;
}

static bool hash_murmur2_seed0(const uint8_t *key, size_t len, uint32_t *hash)
{
	*hash = murmur2_seeded(key, len, 0);
	return true;
}

/*
 * One JavaScript multiplication of two int32 numbers: the exact product rounded to the 53 significant bits of a
 * double (half to even), then cut to 32 bits as JavaScript's bit operators do. |a * b| stays below 2^63.
 */
static uint32_t js_multiply(uint32_t a, uint32_t b)
{
	int64_t product = (int64_t)(int32_t)a * (int32_t)b;
	uint64_t magnitude = product < 0 ? 0 - (uint64_t)product : (uint64_t)product;
	int excess = magnitude ? 64 - __builtin_clzll(magnitude) - 53 : 0;

	if (excess > 0) {
		uint64_t half = UINT64_C(1) << (excess - 1);
		uint64_t rest = magnitude & (2 * half - 1);

		magnitude -= rest;
		if (rest > half || (rest == half && (magnitude & 2 * half)))
			magnitude += 2 * half;
	}
	return (uint32_t)(product < 0 ? 0 - magnitude : magnitude);
}

static uint32_t js_byte(const uint8_t *key, size_t len, size_t at)
{
	return at < len ? key[at] : 0;
}

/*
 * KafkaJS 1: murmur2 in doubles, whose block loop also takes a partial tail, padded with zeros, as a block of its own
 * before the tail is mixed in once more.
 */
static bool hash_kafkajs_legacy(const uint8_t *key, size_t len, uint32_t *hash)
{
	const uint32_t m = 0x5bd1e995;
	size_t tail = len & ~(size_t)3;
	uint32_t h = 0x9747b28c ^ (uint32_t)len;

	for (size_t i = 0; i < len; i += 4) {
		uint32_t k = js_byte(key, len, i) | js_byte(key, len, i + 1) << 8 | js_byte(key, len, i + 2) << 16 |
			     js_byte(key, len, i + 3) << 24;

		k = js_multiply(k, m);
		k ^= k >> 24;
		h = js_multiply(h, m) ^ js_multiply(k, m);
	}
	h ^= js_byte(key, len, tail + 2) << 16;
	h ^= js_byte(key, len, tail + 1) << 8;
	if (tail < len)
		h = js_multiply(h ^ key[tail], m);
	h = js_multiply(h ^ h >> 13, m);
	*hash = h ^ h >> 15;
	return true;
}

/* CRC-32/ISO-HDLC (zlib's), a nibble at a time; not CRC-32C. */
static bool hash_crc32(const uint8_t *key, size_t len, uint32_t *hash)
{
	static const uint32_t table[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
		0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};
	uint32_t crc = 0xffffffff;

	for (size_t i = 0; i < len; i++) {
		crc ^= key[i];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	*hash = ~crc;
	return true;
}

static bool hash_fnv1a(const uint8_t *key, size_t len, uint32_t *hash)
{
	uint32_t h = 0x811c9dc5;

	for (size_t i = 0; i < len; i++)
		h = (h ^ key[i]) * 0x01000193;
	*hash = h;
	return true;
}

/* String.hashCode over UTF-16 units: a code point above U+FFFF counts as its two surrogates. */
static bool hash_java_string(const uint8_t *key, size_t len, uint32_t *hash)
{
	uint32_t h = 0, point;

	for (size_t at = 0, width; at < len; at += width) {
		width = utf8_decode(key + at, len - at, &point);
		if (!width)
			return false;
		if (point >= 0x10000) {
			h = h * 31 + (0xd800 + ((point - 0x10000) >> 10));
			point = 0xdc00 + (point & 0x3ff);
		}
		h = h * 31 + point;
	}
	*hash = h;
	return true;
}

/* Arrays.hashCode(byte[]): bytes are signed. */
static bool hash_java_bytes(const uint8_t *key, size_t len, uint32_t *hash)
{
	uint32_t h = 1;

	for (size_t i = 0; i < len; i++)
		h = h * 31 + (uint32_t)(int32_t)(int8_t)key[i];
	*hash = h;
	return true;
}

static uint32_t rotate(uint32_t x, unsigned bits)
{
	return x << bits | x >> (32 - bits);
}

static uint32_t murmur3_mix(uint32_t k)
{
	return rotate(k * 0xcc9e2d51, 15) * 0x1b873593;
}

/* MurmurHash3_x86_32. */
static uint32_t murmur3(const uint8_t *key, size_t len, uint32_t seed)
{
	size_t tail = len & ~(size_t)3;
	uint32_t h = seed, k = 0;

	for (size_t i = 0; i < tail; i += 4)
		h = rotate(h ^ murmur3_mix(murmur2_load(key + i)), 13) * 5 + 0xe6546b64;
	for (size_t i = len; i > tail; i--)
		k = k << 8 | key[i - 1];
	h ^= murmur3_mix(k) ^ (uint32_t)len;
	h = (h ^ h >> 16) * 0x85ebca6b;
	h = (h ^ h >> 13) * 0xc2b2ae35;
	return h ^ h >> 16;
}

static bool hash_murmur3(const uint8_t *key, size_t len, uint32_t *hash)
{
	*hash = murmur3(key, len, 0);
	return true;
}

/* Maxwell hashes a string, so that bytes which are none are outside its domain. */
static bool hash_murmur3_maxwell(const uint8_t *key, size_t len, uint32_t *hash)
{
	*hash = murmur3(key, len, 25342);
	return utf8_valid(key, len);
}

static bool hash_xxhash32(const uint8_t *key, size_t len, uint32_t *hash)
{
	*hash = XXH32(key, len, 0);
	return true;
}

/* The mixing step of Bob Jenkins' lookup2. */
static void lookup2_mix(uint32_t s[3])
{
	static const uint8_t shift[3][3] = { { 13, 8, 13 }, { 12, 16, 5 }, { 3, 10, 15 } };

	for (int i = 0; i < 3; i++) {
		s[0] = (s[0] - s[1] - s[2]) ^ s[2] >> shift[i][0];
		s[1] = (s[1] - s[2] - s[0]) ^ s[0] << shift[i][1];
		s[2] = (s[2] - s[0] - s[1]) ^ s[1] >> shift[i][2];
	}
}

/* erlang:phash2 of a binary: lookup2, its low 27 bits; the empty binary is a special case of Erlang's. */
static bool hash_phash2(const uint8_t *key, size_t len, uint32_t *hash)
{
	const uint32_t golden = 0x9e3779b9;
	uint32_t s[3] = { golden, golden, 13 * golden };
	size_t at = 0;

	if (!len) {
		*hash = 13708901;
		return true;
	}
	for (; len - at >= 12; at += 12) {
		for (int i = 0; i < 3; i++)
			s[i] += murmur2_load(key + at + 4 * i);
		lookup2_mix(s);
	}
	s[2] += (uint32_t)len;
	for (size_t i = 0; at + i < len; i++) {
		/* The lowest byte of the last word holds the length, so its bytes start one higher. */
		size_t place = i < 8 ? i : i + 1;

		s[place / 4] += (uint32_t)key[at + i] << 8 * (place % 4);
	}
	lookup2_mix(s);
	*hash = s[2] & 0x7ffffff;
	return true;
}

const struct partitioner partitioners[PARTITIONER_COUNT] = {
#define X(name, hash, reduction, users) { #name, users, hash_##hash, REDUCE_##reduction },
	PARTITIONERS(X)
#undef X
};

const struct partitioner *partitioner_by_name(const char *name)
{
	for (size_t i = 0; i < PARTITIONER_COUNT; i++)
		if (!strcmp(partitioners[i].name, name))
			return &partitioners[i];
	return NULL;
}

int32_t partitioner_apply(const struct partitioner *p, const void *key, size_t len, int32_t n)
{
	uint32_t hash;

	return p->hash(key, len, &hash) ? partition_reduce(p->reduction, hash, n) : -1;
}
