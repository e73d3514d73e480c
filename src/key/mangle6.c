/* SPDX-License-Identifier: BSD-3-Clause */
#include "key/mangle6.h"

#include <string.h>

#include "key/aes.h"

/* With the symbols of mangle6.h: s is word[0..1], d is word[2..3], p is word[4]. */
struct key6_words {
	uint64_t word[5];
};

static inline struct key6_words load_key6(const struct key6 *key)
{
	struct key6_words words;

	memcpy(&words, key, sizeof(words));
	return words;
}

static struct key_hash permute(const struct hash_key *hash_key, uint64_t lo, uint64_t hi)
{
	struct aes_state s = aes_input(&(struct key_hash){lo, hi});

	aes_rounds(&s, hash_key->round6);
	return aes_output(&s);
}

static struct key_hash permute_back(const struct hash_key *hash_key, uint64_t lo, uint64_t hi)
{
	struct aes_state s = aes_input(&(struct key_hash){lo, hi});

	aes_rounds_inverse(&s, hash_key->round6);
	return aes_output(&s);
}

static struct mangled6 mangle(
	const struct hash_key *hash_key, const struct key6 *key6, const struct key_hash *hash)
{
	struct key6_words key = load_key6(key6);
	struct key_hash t = permute(hash_key, hash->lo, hash->hi);
	struct key_hash y = permute(hash_key, key.word[3] ^ t.lo, key.word[4] ^ t.hi);
	struct key_hash x = permute(hash_key, key.word[2] ^ t.lo, y.lo ^ t.hi);

	return (struct mangled6){{hash->lo, hash->hi, x.lo, x.hi, y.hi}};
}

void mangle6_burst_portable(
	const struct hash_key *hash_key, const struct key_burst *burst, struct mangled6 *mangled)
{
	for (uint64_t left = burst->v6; left != 0; left &= left - 1) {
		int i = __builtin_ctzll(left);

		*mangled++ = mangle(hash_key, &burst->key6[i], &burst->hash[i]);
	}
}

struct key6 mangle6_invert(const struct hash_key *hash_key, const struct mangled6 *mangled)
{
	const uint64_t *word = mangled->word;
	struct key_hash t = permute(hash_key, word[0], word[1]);
	struct key_hash x = permute_back(hash_key, word[2], word[3]);
	struct key_hash y = permute_back(hash_key, x.hi ^ t.hi, word[4]);
	struct key6_words key = {.word = {[2] = x.lo ^ t.lo, y.lo ^ t.lo, y.hi ^ t.hi}};
	struct key_hash s = permute_back(hash_key, word[0], word[1]);
	struct aes_state first;
	struct key6 key6;

	s = permute_back(hash_key, s.lo ^ key.word[4], s.hi);
	s = permute_back(hash_key, s.lo ^ key.word[2], s.hi ^ key.word[3]);
	first = aes_input(&s);
	aes_xor(&first, hash_key->round6[0]);
	s = aes_output(&first);
	key.word[0] = s.lo;
	key.word[1] = s.hi;
	memcpy(&key6, &key, sizeof(key6));
	return key6;
}

#ifdef __x86_64__
TARGET_AES static void mangle6_burst_aesni(
	const struct hash_key *hash_key, const struct key_burst *burst, struct mangled6 *mangled)
{
	const struct aesni_keys keys = aesni_load_keys(hash_key->round6);

	for (uint64_t left = burst->v6; left != 0; left &= left - 1) {
		int i = __builtin_ctzll(left);
		const uint64_t *key = (const uint64_t *)(const void *)&burst->key6[i];
		__m128i h = _mm_load_si128((const __m128i *)&burst->hash[i]);
		__m128i t = aesni_rounds(h, &keys);
		__m128i d_hi_p = _mm_loadu_si128((const __m128i *)(key + 3));
		__m128i y = aesni_rounds(_mm_xor_si128(d_hi_p, t), &keys);
		__m128i d_lo = _mm_loadl_epi64((const __m128i *)(key + 2));
		__m128i d_lo_y = _mm_unpacklo_epi64(d_lo, y);
		__m128i x = aesni_rounds(_mm_xor_si128(d_lo_y, t), &keys);

		_mm_storeu_si128((__m128i *)mangled->word, h);
		_mm_storeu_si128((__m128i *)(mangled->word + 2), x);
		mangled->word[4] = (uint64_t)_mm_extract_epi64(y, 1);
		mangled++;
	}
}
#endif

static void (*mangle6_best)(const struct hash_key *hash_key, const struct key_burst *burst,
	struct mangled6 *mangled) = mangle6_burst_portable;

/* Runs before main(), so that no thread sees the pointer change. */
__attribute__((constructor)) static void select_mangle6(void)
{
#ifdef __x86_64__
	__builtin_cpu_init();
	if (__builtin_cpu_supports("aes") && __builtin_cpu_supports("sse4.1"))
		mangle6_best = mangle6_burst_aesni;
#endif
}

void mangle6_burst(
	const struct hash_key *hash_key, const struct key_burst *burst, struct mangled6 *mangled)
{
	mangle6_best(hash_key, burst, mangled);
}
