/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/packet/rss_hash.h"

#include <string.h>

#include "base/assertion.h"
#include "rx/packet/unaligned.h"

/* clang-format off */
#define KEY8  0x6d, 0x5a, 0x6d, 0x5a, 0x6d, 0x5a, 0x6d, 0x5a
#define KEY32 KEY8, KEY8, KEY8, KEY8
/* clang-format on */

const uint8_t rss_symmetric_key[RSS_KEY_LEN_MAX] = {KEY32, KEY32};

/*
 * The Toeplitz hash is the xor of W(i) over all set bits i of the data. Bit 0 is the most
 * significant bit of the first byte. W(i) is the 32 bits of the key from its bit i on. This key
 * repeats every 16 bits, so:
 *
 *  - W(i) = W(i mod 16). So the hash of the data is the hash of F, the xor of its 16-bit words.
 *    Both directions of a connection have the same F, and ports of 0 have no effect.
 *  - Both halves of W(i), and so of the hash, are equal: a word of the key, rotated left by i.
 *    W(i + 8) is W(i) with the bytes of each half swapped. So one table of 256 entries serves both
 *    bytes of F.
 */
#define ROTATED(i)   (0x6d5a6d5au >> (16 - (i)) & 0xffff)
#define BIT(byte, i) ((byte) >> (7 - (i)) & 1 ? ROTATED(i) : 0)
#define T1(b)                                                                                      \
	(BIT(b, 0) ^ BIT(b, 1) ^ BIT(b, 2) ^ BIT(b, 3) ^ BIT(b, 4) ^ BIT(b, 5) ^ BIT(b, 6) ^       \
		BIT(b, 7))
#define T4(b)   T1(b), T1((b) + 1), T1((b) + 2), T1((b) + 3)
#define T16(b)  T4(b), T4((b) + 4), T4((b) + 8), T4((b) + 12)
#define T64(b)  T16(b), T16((b) + 16), T16((b) + 32), T16((b) + 48)
#define T256(b) T64(b), T64((b) + 64), T64((b) + 128), T64((b) + 192)

static const uint16_t toeplitz[256] = {T256(0)};

/* `fold` is the xor of the data's 32-bit words in memory order. */
static inline uint32_t toeplitz_folded(uint32_t fold)
{
	uint8_t word[4];
	uint16_t hash;

	memcpy(word, &fold, sizeof(word));
	hash = toeplitz[word[0] ^ word[2]] ^ __builtin_bswap16(toeplitz[word[1] ^ word[3]]);
	return hash * 0x10001u;
}

/* NICs do not hash the ports of fragments. */
static inline uint32_t fold_ports(
	const struct parsed *parsed, const uint8_t *src_port, const uint8_t *dst_port)
{
	return parsed->fragment ? 0 : load16(src_port) ^ load16(dst_port);
}

static inline uint32_t fold64(uint64_t word)
{
	return (uint32_t)word ^ (uint32_t)(word >> 32);
}

#define ports_of(key) (load16((key).src_port) ^ load16((key).dst_port))

static inline __attribute__((always_inline)) uint32_t hash4(
	const struct key4 *key, uint32_t ports, const struct rss_mask *mask)
{
	return toeplitz_folded((load32(key->src_ip) & (uint32_t)mask->src) ^
			       (load32(key->dst_ip) & (uint32_t)mask->dst) ^ (ports & mask->ports));
}

static inline __attribute__((always_inline)) uint32_t hash6(
	const struct key6 *key, uint32_t ports, const struct rss_mask *mask)
{
	return toeplitz_folded(
		fold64(((load64(key->src_ip) ^ load64(key->src_ip + 8)) & mask->src) ^
			((load64(key->dst_ip) ^ load64(key->dst_ip + 8)) & mask->dst)) ^
		(ports & mask->ports));
}

static inline __attribute__((always_inline)) uint32_t hash(
	enum parse_verdict verdict, const struct parsed *parsed, const struct rss_mask *mask)
{
	const struct key4 *key4 = &parsed->key4;
	const struct key6 *key6 = &parsed->key6;

	if (verdict == PARSE_IPV4)
		return hash4(key4, fold_ports(parsed, key4->src_port, key4->dst_port), mask);
	if (verdict == PARSE_IPV6)
		return hash6(key6, fold_ports(parsed, key6->src_port, key6->dst_port), mask);
	return 0;
}

uint32_t rss_hash(enum parse_verdict verdict, const struct parsed *parsed)
{
	const struct rss_mask all = {.src = UINT64_MAX, .dst = UINT64_MAX, .ports = UINT32_MAX};

	return hash(verdict, parsed, &all);
}

uint32_t rss_hash_masked(
	enum parse_verdict verdict, const struct parsed *parsed, const struct rss_mask *mask)
{
	return hash(verdict, parsed, mask);
}

void rss_hash_burst(
	const struct key_burst *burst, const struct rss_mask *mask, uint32_t hashes[BURST_MAX])
{
	ASSERT(burst->n, <=, BURST_MAX);
	for (uint32_t i = 0; i < burst->n; i++)
		if (burst->v6 >> i & 1)
			hashes[i] = hash6(&burst->key6[i], ports_of(burst->key6[i]), mask);
		else
			hashes[i] = hash4(&burst->key4[i], ports_of(burst->key4[i]), mask);
}

struct rss_mask rss_mask_of(enum rss_fields fields)
{
	return (struct rss_mask){
		.src = fields == RSS_FIELDS_DST ? 0 : UINT64_MAX,
		.dst = fields == RSS_FIELDS_SRC ? 0 : UINT64_MAX,
		.ports = fields == RSS_FIELDS_5TUPLE ? UINT32_MAX : 0,
	};
}
