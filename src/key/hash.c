/* SPDX-License-Identifier: BSD-3-Clause */
#include "key/hash.h"

#include <string.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "base/random.h"
#include "key/aes.h"

static void fill_round_keys(uint8_t round_keys[HASH_ROUNDS + 1][16], uint64_t *state)
{
	for (int r = 0; r <= HASH_ROUNDS; r++) {
		for (int half = 0; half < 16; half += 8) {
			uint64_t word = random_split(state);

			for (int i = 0; i < 8; i++)
				round_keys[r][half + i] = (uint8_t)(word >> 8 * i);
		}
	}
}

void hash_key_init(struct hash_key *hash_key, uint64_t seed)
{
	uint64_t state = seed;

	fill_round_keys(hash_key->round4, &state);
	fill_round_keys(hash_key->round6, &state);
	hash_key->seed = seed;
}

static struct key_hash hash4_portable(const struct hash_key *hash_key, const struct key4 *key)
{
	struct aes_state s = {{0}};

	aes_xor(&s, (const uint8_t *)key);
	aes_xor(&s, hash_key->round4[0]);
	aes_rounds(&s, hash_key->round4);
	return aes_output(&s);
}

static struct key_hash hash6_portable(const struct hash_key *hash_key, const struct key6 *key)
{
	struct aes_state s = {{0}};
	uint8_t blocks[3][16] = {{0}};

	memcpy(blocks, key, sizeof(*key));
	aes_xor(&s, hash_key->round6[0]);
	for (int b = 0; b < 3; b++) {
		aes_xor(&s, blocks[b]);
		aes_rounds(&s, hash_key->round6);
	}
	return aes_output(&s);
}

void hash_burst_portable(const struct hash_key *hash_key, struct key_burst *burst)
{
	for (uint32_t i = 0; i < burst->n; i++)
		burst->hash[i] = burst->v6 >> i & 1 ? hash6_portable(hash_key, &burst->key6[i])
						    : hash4_portable(hash_key, &burst->key4[i]);
}

struct key_hash hash_one(const struct hash_key *hash_key, const struct key *key)
{
	return key->family == KEY_IPV4 ? hash4_portable(hash_key, &key->v4)
				       : hash6_portable(hash_key, &key->v6);
}

struct key4 hash_invert4(const struct hash_key *hash_key, const struct key_hash *hash)
{
	struct aes_state s = aes_input(hash);
	struct key4 key;

	aes_rounds_inverse(&s, hash_key->round4);
	aes_xor(&s, hash_key->round4[0]);
	for (int i = 0; i < 16; i++)
		((uint8_t *)&key)[i] = (uint8_t)(s.column[i / 4] >> i % 4 * 8);
	return key;
}

#ifdef __x86_64__
TARGET_AES static void hash6_aesni(const struct hash_key *hash_key, struct key_burst *burst)
{
	const struct aesni_keys keys = aesni_load_keys(hash_key->round6);

	for (uint64_t left = burst->v6; left != 0; left &= left - 1) {
		int i = __builtin_ctzll(left);
		const __m128i *key = (const __m128i *)&burst->key6[i];
		__m128i s = _mm_xor_si128(_mm_loadu_si128(key), keys.key[0]);

		s = aesni_rounds(s, &keys);
		s = aesni_rounds(_mm_xor_si128(s, _mm_loadu_si128(key + 1)), &keys);
		s = aesni_rounds(_mm_xor_si128(s, _mm_loadl_epi64(key + 2)), &keys);
		_mm_store_si128((__m128i *)&burst->hash[i], s);
	}
}

/* In a mixed burst, IPv6 entries first get the hash of an undefined key4. This avoids branches. */
static uint32_t nb_hashed4(const struct key_burst *burst)
{
	bool all_v6 = burst->n > 0 && burst->v6 == UINT64_MAX >> (BURST_MAX - burst->n);

	return all_v6 ? 0 : burst->n;
}

/* Without branches, the CPU overlaps the AES rounds of several independent keys. */
TARGET_AES static inline void hash4_aesni(
	const struct hash_key *hash_key, struct key_burst *burst, uint32_t from, uint32_t n)
{
	const struct aesni_keys keys = aesni_load_keys(hash_key->round4);

	for (uint32_t i = from; i < n; i++) {
		__m128i s = _mm_load_si128((const __m128i *)&burst->key4[i]);

		s = aesni_rounds(_mm_xor_si128(s, keys.key[0]), &keys);
		_mm_store_si128((__m128i *)&burst->hash[i], s);
	}
}

TARGET_AES static void hash_burst_aesni(const struct hash_key *hash_key, struct key_burst *burst)
{
	hash4_aesni(hash_key, burst, 0, nb_hashed4(burst));
	if (burst->v6 != 0)
		hash6_aesni(hash_key, burst);
}

#define TARGET_VAES __attribute__((target("vaes,avx512f,aes,sse4.1")))

TARGET_VAES static void hash_burst_vaes(const struct hash_key *hash_key, struct key_burst *burst)
{
	const uint32_t n = nb_hashed4(burst), whole = n / 4 * 4;
	__m512i keys[HASH_ROUNDS + 1];

	for (int r = 0; r <= HASH_ROUNDS; r++)
		keys[r] = _mm512_broadcast_i32x4(
			_mm_load_si128((const __m128i *)hash_key->round4[r]));
	for (uint32_t i = 0; i < whole; i += 4) {
		__m512i s = _mm512_load_si512(&burst->key4[i]);

		s = _mm512_xor_si512(s, keys[0]);
		for (int r = 1; r <= HASH_ROUNDS; r++)
			s = _mm512_aesenc_epi128(s, keys[r]);
		_mm512_store_si512(&burst->hash[i], s);
	}
	hash4_aesni(hash_key, burst, whole, n);
	if (burst->v6 != 0)
		hash6_aesni(hash_key, burst);
}

/* __builtin_cpu_supports() of clang 14 does not accept the name "vaes". */
static bool cpu_has_vaes(void)
{
	unsigned int eax, ebx, ecx, edx;

	return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ecx & bit_VAES) != 0 &&
	       __builtin_cpu_supports("avx512f");
}
#endif

/* The fastest first. Ends with NULL. */
static hash_burst_fn paths[4] = {hash_burst_portable};

/* Runs before main(), so that no thread sees a pointer change. */
__attribute__((constructor)) static void find_paths(void)
{
	uint32_t n = 0;

#ifdef __x86_64__
	__builtin_cpu_init();
	if (__builtin_cpu_supports("aes") && __builtin_cpu_supports("sse4.1")) {
		if (cpu_has_vaes())
			paths[n++] = hash_burst_vaes;
		paths[n++] = hash_burst_aesni;
	}
#endif
	paths[n] = hash_burst_portable;
}

const hash_burst_fn *hash_burst_paths(void)
{
	return paths;
}

void hash_burst(const struct hash_key *hash_key, struct key_burst *burst)
{
	paths[0](hash_key, burst);
}
