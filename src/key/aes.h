/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * AES rounds (FIPS 197, 5.1). A column is a 32-bit word with row 0 in its lowest byte. Table
 * look-ups depend on the data, which are public packet headers.
 */

#include <stdint.h>

#include "key/key_burst.h"

/* aes_mix_sub[x] is MixColumns of the column (SubBytes(x), 0, 0, 0). */
extern const uint32_t aes_mix_sub[256];

struct aes_state {
	uint32_t column[4];
};

static inline uint32_t aes_load32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint32_t aes_rotate(uint32_t x, int bits)
{
	return x << bits | x >> (32 - bits);
}

static inline void aes_xor(struct aes_state *s, const uint8_t block[16])
{
	for (int c = 0; c < 4; c++)
		s->column[c] ^= aes_load32(block + 4 * c);
}

/* Same as the instruction AESENC. */
static inline void aes_round(struct aes_state *s, const uint8_t round_key[16])
{
	struct aes_state t;

	for (unsigned int c = 0; c < 4; c++)
		t.column[c] = aes_mix_sub[s->column[c] & 0xff] ^
			      aes_rotate(aes_mix_sub[s->column[(c + 1) % 4] >> 8 & 0xff], 8) ^
			      aes_rotate(aes_mix_sub[s->column[(c + 2) % 4] >> 16 & 0xff], 16) ^
			      aes_rotate(aes_mix_sub[s->column[(c + 3) % 4] >> 24], 24);
	*s = t;
	aes_xor(s, round_key);
}

static inline void aes_rounds(struct aes_state *s, const uint8_t round_keys[HASH_ROUNDS + 1][16])
{
	for (int r = 1; r <= HASH_ROUNDS; r++)
		aes_round(s, round_keys[r]);
}

void aes_rounds_inverse(struct aes_state *s, const uint8_t round_keys[HASH_ROUNDS + 1][16]);

static inline struct aes_state aes_input(const struct key_hash *block)
{
	return (struct aes_state){{(uint32_t)block->lo, (uint32_t)(block->lo >> 32),
		(uint32_t)block->hi, (uint32_t)(block->hi >> 32)}};
}

static inline struct key_hash aes_output(const struct aes_state *s)
{
	return (struct key_hash){
		.lo = s->column[0] | (uint64_t)s->column[1] << 32,
		.hi = s->column[2] | (uint64_t)s->column[3] << 32,
	};
}

#ifdef __x86_64__
#include <immintrin.h>

#define TARGET_AES __attribute__((target("aes,sse4.1")))

struct aesni_keys {
	__m128i key[HASH_ROUNDS + 1];
};

TARGET_AES static inline struct aesni_keys aesni_load_keys(const uint8_t bytes[HASH_ROUNDS + 1][16])
{
	struct aesni_keys keys;

	for (int r = 0; r <= HASH_ROUNDS; r++)
		keys.key[r] = _mm_load_si128((const __m128i *)bytes[r]);
	return keys;
}

TARGET_AES static inline __m128i aesni_rounds(__m128i s, const struct aesni_keys *keys)
{
	for (int r = 1; r <= HASH_ROUNDS; r++)
		s = _mm_aesenc_si128(s, keys->key[r]);
	return s;
}
#endif
