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

/* CRC-32/ISO-HDLC (zlib's), a byte at a time; not CRC-32C. The table is that of the reflected polynomial 0xedb88320. */
static bool hash_crc32(const uint8_t *key, size_t len, uint32_t *hash)
{
	static const uint32_t table[256] = {
		0x00000000, 0x77073096, 0xee0e612c, 0x990951ba, 0x076dc419, 0x706af48f, 0xe963a535, 0x9e6495a3,
		0x0edb8832, 0x79dcb8a4, 0xe0d5e91e, 0x97d2d988, 0x09b64c2b, 0x7eb17cbd, 0xe7b82d07, 0x90bf1d91,
		0x1db71064, 0x6ab020f2, 0xf3b97148, 0x84be41de, 0x1adad47d, 0x6ddde4eb, 0xf4d4b551, 0x83d385c7,
		0x136c9856, 0x646ba8c0, 0xfd62f97a, 0x8a65c9ec, 0x14015c4f, 0x63066cd9, 0xfa0f3d63, 0x8d080df5,
		0x3b6e20c8, 0x4c69105e, 0xd56041e4, 0xa2677172, 0x3c03e4d1, 0x4b04d447, 0xd20d85fd, 0xa50ab56b,
		0x35b5a8fa, 0x42b2986c, 0xdbbbc9d6, 0xacbcf940, 0x32d86ce3, 0x45df5c75, 0xdcd60dcf, 0xabd13d59,
		0x26d930ac, 0x51de003a, 0xc8d75180, 0xbfd06116, 0x21b4f4b5, 0x56b3c423, 0xcfba9599, 0xb8bda50f,
		0x2802b89e, 0x5f058808, 0xc60cd9b2, 0xb10be924, 0x2f6f7c87, 0x58684c11, 0xc1611dab, 0xb6662d3d,
		0x76dc4190, 0x01db7106, 0x98d220bc, 0xefd5102a, 0x71b18589, 0x06b6b51f, 0x9fbfe4a5, 0xe8b8d433,
		0x7807c9a2, 0x0f00f934, 0x9609a88e, 0xe10e9818, 0x7f6a0dbb, 0x086d3d2d, 0x91646c97, 0xe6635c01,
		0x6b6b51f4, 0x1c6c6162, 0x856530d8, 0xf262004e, 0x6c0695ed, 0x1b01a57b, 0x8208f4c1, 0xf50fc457,
		0x65b0d9c6, 0x12b7e950, 0x8bbeb8ea, 0xfcb9887c, 0x62dd1ddf, 0x15da2d49, 0x8cd37cf3, 0xfbd44c65,
		0x4db26158, 0x3ab551ce, 0xa3bc0074, 0xd4bb30e2, 0x4adfa541, 0x3dd895d7, 0xa4d1c46d, 0xd3d6f4fb,
		0x4369e96a, 0x346ed9fc, 0xad678846, 0xda60b8d0, 0x44042d73, 0x33031de5, 0xaa0a4c5f, 0xdd0d7cc9,
		0x5005713c, 0x270241aa, 0xbe0b1010, 0xc90c2086, 0x5768b525, 0x206f85b3, 0xb966d409, 0xce61e49f,
		0x5edef90e, 0x29d9c998, 0xb0d09822, 0xc7d7a8b4, 0x59b33d17, 0x2eb40d81, 0xb7bd5c3b, 0xc0ba6cad,
		0xedb88320, 0x9abfb3b6, 0x03b6e20c, 0x74b1d29a, 0xead54739, 0x9dd277af, 0x04db2615, 0x73dc1683,
		0xe3630b12, 0x94643b84, 0x0d6d6a3e, 0x7a6a5aa8, 0xe40ecf0b, 0x9309ff9d, 0x0a00ae27, 0x7d079eb1,
		0xf00f9344, 0x8708a3d2, 0x1e01f268, 0x6906c2fe, 0xf762575d, 0x806567cb, 0x196c3671, 0x6e6b06e7,
		0xfed41b76, 0x89d32be0, 0x10da7a5a, 0x67dd4acc, 0xf9b9df6f, 0x8ebeeff9, 0x17b7be43, 0x60b08ed5,
		0xd6d6a3e8, 0xa1d1937e, 0x38d8c2c4, 0x4fdff252, 0xd1bb67f1, 0xa6bc5767, 0x3fb506dd, 0x48b2364b,
		0xd80d2bda, 0xaf0a1b4c, 0x36034af6, 0x41047a60, 0xdf60efc3, 0xa867df55, 0x316e8eef, 0x4669be79,
		0xcb61b38c, 0xbc66831a, 0x256fd2a0, 0x5268e236, 0xcc0c7795, 0xbb0b4703, 0x220216b9, 0x5505262f,
		0xc5ba3bbe, 0xb2bd0b28, 0x2bb45a92, 0x5cb36a04, 0xc2d7ffa7, 0xb5d0cf31, 0x2cd99e8b, 0x5bdeae1d,
		0x9b64c2b0, 0xec63f226, 0x756aa39c, 0x026d930a, 0x9c0906a9, 0xeb0e363f, 0x72076785, 0x05005713,
		0x95bf4a82, 0xe2b87a14, 0x7bb12bae, 0x0cb61b38, 0x92d28e9b, 0xe5d5be0d, 0x7cdcefb7, 0x0bdbdf21,
		0x86d3d2d4, 0xf1d4e242, 0x68ddb3f8, 0x1fda836e, 0x81be16cd, 0xf6b9265b, 0x6fb077e1, 0x18b74777,
		0x88085ae6, 0xff0f6a70, 0x66063bca, 0x11010b5c, 0x8f659eff, 0xf862ae69, 0x616bffd3, 0x166ccf45,
		0xa00ae278, 0xd70dd2ee, 0x4e048354, 0x3903b3c2, 0xa7672661, 0xd06016f7, 0x4969474d, 0x3e6e77db,
		0xaed16a4a, 0xd9d65adc, 0x40df0b66, 0x37d83bf0, 0xa9bcae53, 0xdebb9ec5, 0x47b2cf7f, 0x30b5ffe9,
		0xbdbdf21c, 0xcabac28a, 0x53b39330, 0x24b4a3a6, 0xbad03605, 0xcdd70693, 0x54de5729, 0x23d967bf,
		0xb3667a2e, 0xc4614ab8, 0x5d681b02, 0x2a6f2b94, 0xb40bbe37, 0xc30c8ea1, 0x5a05df1b, 0x2d02ef8d,
	};
	uint32_t crc = 0xffffffff;

	for (size_t i = 0; i < len; i++)
		crc = crc >> 8 ^ table[(crc ^ key[i]) & 0xff];
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

const struct partitioner *partitioner_by_name(const char *name, size_t len)
{
	for (size_t i = 0; i < PARTITIONER_COUNT; i++)
		if (strlen(partitioners[i].name) == len && memcmp(partitioners[i].name, name, len) == 0)
			return &partitioners[i];
	return NULL;
}
