/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/table_hash.h"

#include <endian.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#ifdef __SSE4_2__
#include <nmmintrin.h>
#endif

static inline uint32_t load32(const void *p)
{
	uint32_t word;

	memcpy(&word, p, sizeof(word));
	return le32toh(word);
}

static inline uint32_t load16(const void *p)
{
	uint16_t word;

	memcpy(&word, p, sizeof(word));
	return le16toh(word);
}

static inline uint32_t rotate(uint32_t x, uint32_t bits)
{
	return x << bits | x >> (32 - bits);
}

/* Loads up to 4 bytes in little-endian order. Missing high bytes are 0. */
static inline uint32_t load_rest(const uint8_t *p, size_t len)
{
	uint32_t word = 0;

	for (size_t i = 0; i < len && i < 4; i++)
		word |= (uint32_t)p[i] << 8 * i;
	return word;
}

/* Bob Jenkins, lookup3.c (2006): three words of state, mixed after every twelve bytes. */

struct jenkins {
	uint32_t a, b, c;
};

static inline void jenkins_mix(struct jenkins *s)
{
	s->a = (s->a - s->c) ^ rotate(s->c, 4), s->c += s->b;
	s->b = (s->b - s->a) ^ rotate(s->a, 6), s->a += s->c;
	s->c = (s->c - s->b) ^ rotate(s->b, 8), s->b += s->a;
	s->a = (s->a - s->c) ^ rotate(s->c, 16), s->c += s->b;
	s->b = (s->b - s->a) ^ rotate(s->a, 19), s->a += s->c;
	s->c = (s->c - s->b) ^ rotate(s->b, 4), s->b += s->a;
}

static inline uint32_t jenkins_final(struct jenkins *s)
{
	s->c = (s->c ^ s->b) - rotate(s->b, 14);
	s->a = (s->a ^ s->c) - rotate(s->c, 11);
	s->b = (s->b ^ s->a) - rotate(s->a, 25);
	s->c = (s->c ^ s->b) - rotate(s->b, 16);
	s->a = (s->a ^ s->c) - rotate(s->c, 4);
	s->b = (s->b ^ s->a) - rotate(s->a, 14);
	return (s->c ^ s->b) - rotate(s->b, 24);
}

static inline __attribute__((always_inline)) uint32_t jenkins(
	const void *data, size_t len, uint32_t seed)
{
	const uint8_t *p = data;
	uint32_t start = 0xdeadbeef + (uint32_t)len + seed;
	struct jenkins s = {start, start, start};

	for (; len > 12; len -= 12, p += 12) {
		s.a += load32(p);
		s.b += load32(p + 4);
		s.c += load32(p + 8);
		jenkins_mix(&s);
	}
	if (len == 0)
		return s.c;
	s.a += load_rest(p, len);
	s.b += len > 4 ? load_rest(p + 4, len - 4) : 0;
	s.c += len > 8 ? load_rest(p + 8, len - 8) : 0;
	return jenkins_final(&s);
}

/* Austin Appleby, MurmurHash3_x86_32 (2011). */

static inline uint32_t murmur3_scramble(uint32_t k)
{
	return rotate(k * 0xcc9e2d51, 15) * 0x1b873593;
}

static inline __attribute__((always_inline)) uint32_t murmur3(
	const void *data, size_t len, uint32_t seed)
{
	const uint8_t *p = data;
	uint32_t h = seed;
	size_t left = len;

	for (; left >= 4; left -= 4, p += 4)
		h = rotate(h ^ murmur3_scramble(load32(p)), 13) * 5 + 0xe6546b64;
	h ^= murmur3_scramble(load_rest(p, left));
	h ^= (uint32_t)len;
	h = (h ^ h >> 16) * 0x85ebca6b;
	h = (h ^ h >> 13) * 0xc2b2ae35;
	return h ^ h >> 16;
}

/* CRC-32C, reflected, polynomial 0x1edc6f41 (RFC 3720, appendix B.4). */

static inline uint32_t crc32_step8(uint32_t crc, uint8_t byte)
{
#ifdef __SSE4_2__
	return _mm_crc32_u8(crc, byte);
#else
	crc ^= byte;
	for (int bit = 0; bit < 8; bit++)
		crc = crc >> 1 ^ (0x82f63b78 & -(crc & 1));
	return crc;
#endif
}

static inline uint32_t crc32_step64(uint32_t crc, const uint8_t *p)
{
#ifdef __SSE4_2__
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return (uint32_t)_mm_crc32_u64(crc, word);
#else
	for (int i = 0; i < 8; i++)
		crc = crc32_step8(crc, p[i]);
	return crc;
#endif
}

static inline __attribute__((always_inline)) uint32_t crc32c(
	const void *data, size_t len, uint32_t seed)
{
	const uint8_t *p = data;
	uint32_t crc = ~seed;

	for (; len >= 8; len -= 8, p += 8)
		crc = crc32_step64(crc, p);
	for (; len > 0; len--, p++)
		crc = crc32_step8(crc, *p);
	return ~crc;
}

/* Fowler, Noll, Vo, FNV-1a, 32 bits. */

static inline __attribute__((always_inline)) uint32_t fnv1a(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint32_t h = 0x811c9dc5;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x01000193;
	return h;
}

/* Paul Hsieh, SuperFastHash (2004). */

static inline __attribute__((always_inline)) uint32_t hsieh(
	const void *data, size_t len, uint32_t seed)
{
	const uint8_t *p = data;
	uint32_t h = seed;

	for (size_t left = len >> 2; left > 0; left--, p += 4) {
		h += load16(p);
		h = h << 16 ^ load16(p + 2) << 11 ^ h;
		h += h >> 11;
	}
	/* In the original, the last of the remaining bytes is signed. */
	switch (len & 3) {
	case 3:
		h += load16(p);
		h ^= h << 16;
		h ^= (uint32_t)(int8_t)p[2] << 18;
		h += h >> 11;
		break;
	case 2:
		h += load16(p);
		h ^= h << 11;
		h += h >> 17;
		break;
	case 1:
		h += (uint32_t)(int8_t)p[0];
		h ^= h << 10;
		h += h >> 1;
		break;
	default: break;
	}
	h ^= h << 3, h += h >> 5;
	h ^= h << 4, h += h >> 17;
	h ^= h << 25, h += h >> 6;
	return h;
}

static inline __attribute__((always_inline)) uint32_t jenkins0(const void *data, size_t len)
{
	return jenkins(data, len, 0);
}

static inline __attribute__((always_inline)) uint32_t murmur30(const void *data, size_t len)
{
	return murmur3(data, len, 0);
}

static inline __attribute__((always_inline)) uint32_t crc32c0(const void *data, size_t len)
{
	return crc32c(data, len, 0);
}

/* The initial state is the length, as in the original. */
static inline __attribute__((always_inline)) uint32_t hsieh_of_length(const void *data, size_t len)
{
	return hsieh(data, len, (uint32_t)len);
}

static inline __attribute__((always_inline)) uint32_t xxh3(const void *data, size_t len)
{
	return (uint32_t)XXH3_64bits(data, len);
}

static inline uint32_t load32_be(const uint8_t *p)
{
	uint32_t word;

	memcpy(&word, p, sizeof(word));
	return be32toh(word);
}

/*
 * Hash of CAIDA's flow tools for IPv4: src * 59 ^ dst ^ sport << 16 ^ dport ^ proto, in host byte
 * order. An IPv6 address counts as the XOR of its four words. The word of proto also has the other
 * fields of the key.
 */
static inline uint32_t coralreef_hash(uint32_t src, uint32_t dst, const uint8_t *tail)
{
	return src * 59 ^ dst ^ load32_be(tail) ^ load32(tail + 4);
}

static inline uint32_t fold_address6(const uint8_t *p)
{
	return load32_be(p) ^ load32_be(p + 4) ^ load32_be(p + 8) ^ load32_be(p + 12);
}

static __attribute__((always_inline)) inline uint32_t coralreef(const void *data, size_t len)
{
	const uint8_t *p = data;

	if (len == sizeof(struct key4))
		return coralreef_hash(load32_be(p), load32_be(p + 4), p + 8);
	return coralreef_hash(fold_address6(p), fold_address6(p + 16), p + 32);
}

static void burst_aes(const struct key_burst *burst, uint32_t *hash)
{
	for (uint32_t i = 0; i < burst->n; i++)
		hash[i] = (uint32_t)burst->hash[i].lo;
}

static void burst_rss(const struct key_burst *burst, uint32_t *hash)
{
	burst_aes(burst, hash);
}

/* A macro, so that each hash is inlined into its own loop even without optimization. */

#define BURST_HASH(name, function)                                                                 \
	static void burst_##name(const struct key_burst *burst, uint32_t *hash)                    \
	{                                                                                          \
		for (uint32_t i = 0; i < burst->n; i++)                                            \
			hash[i] = function(&burst->key4[i], sizeof(struct key4));                  \
		for (uint64_t left = burst->v6; left != 0; left &= left - 1) {                     \
			uint32_t i = (uint32_t)__builtin_ctzll(left);                              \
                                                                                                   \
			hash[i] = function(&burst->key6[i], sizeof(struct key6));                  \
		}                                                                                  \
	}

BURST_HASH(coralreef, coralreef)
BURST_HASH(jenkins, jenkins0)
BURST_HASH(murmur3, murmur30)
BURST_HASH(crc32, crc32c0)
BURST_HASH(fnv1a, fnv1a)
BURST_HASH(hsieh, hsieh_of_length)
BURST_HASH(xxh3, xxh3)

#define FUNCTION(id, name) burst_##name,
#define NAME(id, name)     #name,

const table_hash_fn table_hashes[TABLE_HASH_COUNT] = {TABLE_HASHES(FUNCTION)};

const char *const table_hash_names[TABLE_HASH_COUNT] = {TABLE_HASHES(NAME)};

uint32_t hash_jenkins(const void *data, size_t len, uint32_t seed)
{
	return jenkins(data, len, seed);
}

uint32_t hash_murmur3(const void *data, size_t len, uint32_t seed)
{
	return murmur3(data, len, seed);
}

uint32_t hash_crc32(const void *data, size_t len, uint32_t seed)
{
	return crc32c(data, len, seed);
}

uint32_t hash_fnv1a(const void *data, size_t len)
{
	return fnv1a(data, len);
}

uint32_t hash_hsieh(const void *data, size_t len, uint32_t seed)
{
	return hsieh(data, len, seed);
}
