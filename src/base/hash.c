/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/hash.h"

#include <string.h>

/*
 * ---- Round keys
 */

/* Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014). */
static uint64_t splitmix64(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static void fill_round_keys(uint8_t round_keys[HASH_ROUNDS + 1][16], uint64_t *state)
{
	for (int r = 0; r <= HASH_ROUNDS; r++) {
		for (int half = 0; half < 16; half += 8) {
			uint64_t word = splitmix64(state);

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

/*
 * ---- Portable
 *
 * One AES round (FIPS 197, 5.1) on four columns; a column is a word whose lowest byte is row 0.
 * Table lookups make it leak timing: it hashes public headers, and no sender sees the receiver's
 * cache.
 */

/* clang-format off */
#define SBOX(X) \
	X(63) X(7c) X(77) X(7b) X(f2) X(6b) X(6f) X(c5) \
	X(30) X(01) X(67) X(2b) X(fe) X(d7) X(ab) X(76) \
	X(ca) X(82) X(c9) X(7d) X(fa) X(59) X(47) X(f0) \
	X(ad) X(d4) X(a2) X(af) X(9c) X(a4) X(72) X(c0) \
	X(b7) X(fd) X(93) X(26) X(36) X(3f) X(f7) X(cc) \
	X(34) X(a5) X(e5) X(f1) X(71) X(d8) X(31) X(15) \
	X(04) X(c7) X(23) X(c3) X(18) X(96) X(05) X(9a) \
	X(07) X(12) X(80) X(e2) X(eb) X(27) X(b2) X(75) \
	X(09) X(83) X(2c) X(1a) X(1b) X(6e) X(5a) X(a0) \
	X(52) X(3b) X(d6) X(b3) X(29) X(e3) X(2f) X(84) \
	X(53) X(d1) X(00) X(ed) X(20) X(fc) X(b1) X(5b) \
	X(6a) X(cb) X(be) X(39) X(4a) X(4c) X(58) X(cf) \
	X(d0) X(ef) X(aa) X(fb) X(43) X(4d) X(33) X(85) \
	X(45) X(f9) X(02) X(7f) X(50) X(3c) X(9f) X(a8) \
	X(51) X(a3) X(40) X(8f) X(92) X(9d) X(38) X(f5) \
	X(bc) X(b6) X(da) X(21) X(10) X(ff) X(f3) X(d2) \
	X(cd) X(0c) X(13) X(ec) X(5f) X(97) X(44) X(17) \
	X(c4) X(a7) X(7e) X(3d) X(64) X(5d) X(19) X(73) \
	X(60) X(81) X(4f) X(dc) X(22) X(2a) X(90) X(88) \
	X(46) X(ee) X(b8) X(14) X(de) X(5e) X(0b) X(db) \
	X(e0) X(32) X(3a) X(0a) X(49) X(06) X(24) X(5c) \
	X(c2) X(d3) X(ac) X(62) X(91) X(95) X(e4) X(79) \
	X(e7) X(c8) X(37) X(6d) X(8d) X(d5) X(4e) X(a9) \
	X(6c) X(56) X(f4) X(ea) X(65) X(7a) X(ae) X(08) \
	X(ba) X(78) X(25) X(2e) X(1c) X(a6) X(b4) X(c6) \
	X(e8) X(dd) X(74) X(1f) X(4b) X(bd) X(8b) X(8a) \
	X(70) X(3e) X(b5) X(66) X(48) X(03) X(f6) X(0e) \
	X(61) X(35) X(57) X(b9) X(86) X(c1) X(1d) X(9e) \
	X(e1) X(f8) X(98) X(11) X(69) X(d9) X(8e) X(94) \
	X(9b) X(1e) X(87) X(e9) X(ce) X(55) X(28) X(df) \
	X(8c) X(a1) X(89) X(0d) X(bf) X(e6) X(42) X(68) \
	X(41) X(99) X(2d) X(0f) X(b0) X(54) X(bb) X(16)
/* clang-format on */

#define XTIME(s)  ((uint32_t)(s) << 1 ^ ((s) >> 7) * 0x11bu)
#define COLUMN(s) (XTIME(s) | (uint32_t)(s) << 8 | (uint32_t)(s) << 16 | (XTIME(s) ^ (s)) << 24)
#define ENTRY(x)  COLUMN(0x##x),

/* MixColumns of the column (SubBytes(x), 0, 0, 0). The other rows are rotations of it. */
static const uint32_t mix_sub[256] = {SBOX(ENTRY)};

struct aes_state {
	uint32_t column[4];
};

static inline uint32_t load_le32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint32_t rotate_left(uint32_t x, int bits)
{
	return x << bits | x >> (32 - bits);
}

static inline void aes_xor(struct aes_state *s, const uint8_t block[16])
{
	for (int c = 0; c < 4; c++)
		s->column[c] ^= load_le32(block + 4 * c);
}

/* SubBytes, ShiftRows, MixColumns, AddRoundKey: what AESENC does. */
static inline void aes_round(struct aes_state *s, const uint8_t round_key[16])
{
	struct aes_state t;

	for (unsigned int c = 0; c < 4; c++)
		t.column[c] = mix_sub[s->column[c] & 0xff] ^
			      rotate_left(mix_sub[s->column[(c + 1) % 4] >> 8 & 0xff], 8) ^
			      rotate_left(mix_sub[s->column[(c + 2) % 4] >> 16 & 0xff], 16) ^
			      rotate_left(mix_sub[s->column[(c + 3) % 4] >> 24], 24);
	*s = t;
	aes_xor(s, round_key);
}

static inline void aes_rounds(struct aes_state *s, const uint8_t round_keys[HASH_ROUNDS + 1][16])
{
	for (int r = 1; r <= HASH_ROUNDS; r++)
		aes_round(s, round_keys[r]);
}

static inline struct key_hash aes_output(const struct aes_state *s)
{
	return (struct key_hash){
		.lo = s->column[0] | (uint64_t)s->column[1] << 32,
		.hi = s->column[2] | (uint64_t)s->column[3] << 32,
	};
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

/*
 * ---- Back from a hash to its IPv4 key
 */

static uint8_t sub_inverse[256]; /* InvSubBytes, filled before main() */

__attribute__((constructor)) static void fill_sub_inverse(void)
{
	for (uint32_t s = 0; s < 256; s++)
		sub_inverse[mix_sub[s] >> 8 & 0xff] = (uint8_t)s;
}

/* Doubles each byte of a column in AES's field. */
static inline uint32_t double_column(uint32_t column)
{
	return (column & 0x7f7f7f7f) << 1 ^ (column >> 7 & 0x01010101) * 0x1b;
}

/* InvMixColumns of one column: MixColumns of column + 4 (column + column rotated by two rows). */
static inline uint32_t mix_inverse(uint32_t column)
{
	uint32_t twice, pair = column ^ rotate_left(column, 16);

	column ^= double_column(double_column(pair));
	twice = double_column(column);
	return twice ^ rotate_left(twice ^ column, 24) ^ rotate_left(column, 16) ^
	       rotate_left(column, 8);
}

/* AddRoundKey, InvMixColumns, InvShiftRows, InvSubBytes: takes an aes_round() back. */
static inline void aes_round_inverse(struct aes_state *s, const uint8_t round_key[16])
{
	struct aes_state t = *s;

	aes_xor(&t, round_key);
	for (int c = 0; c < 4; c++)
		t.column[c] = mix_inverse(t.column[c]);
	for (unsigned int c = 0; c < 4; c++)
		s->column[c] = (uint32_t)sub_inverse[t.column[c] & 0xff] |
			       (uint32_t)sub_inverse[t.column[(c + 3) % 4] >> 8 & 0xff] << 8 |
			       (uint32_t)sub_inverse[t.column[(c + 2) % 4] >> 16 & 0xff] << 16 |
			       (uint32_t)sub_inverse[t.column[(c + 1) % 4] >> 24] << 24;
}

struct key4 hash_invert4(const struct hash_key *hash_key, const struct key_hash *hash)
{
	struct aes_state s = {{(uint32_t)hash->lo, (uint32_t)(hash->lo >> 32), (uint32_t)hash->hi,
		(uint32_t)(hash->hi >> 32)}};
	struct key4 key;

	for (int r = HASH_ROUNDS; r > 0; r--)
		aes_round_inverse(&s, hash_key->round4[r]);
	aes_xor(&s, hash_key->round4[0]);
	for (int i = 0; i < 16; i++)
		((uint8_t *)&key)[i] = (uint8_t)(s.column[i / 4] >> i % 4 * 8);
	return key;
}

/*
 * ---- AES-NI
 */

#ifdef __x86_64__
#include <immintrin.h>

#define TARGET_AES __attribute__((target("aes,sse4.1")))

struct round_keys {
	__m128i key[HASH_ROUNDS + 1];
};

TARGET_AES static inline struct round_keys load_round_keys(const uint8_t bytes[HASH_ROUNDS + 1][16])
{
	struct round_keys keys;

	for (int r = 0; r <= HASH_ROUNDS; r++)
		keys.key[r] = _mm_load_si128((const __m128i *)bytes[r]);
	return keys;
}

TARGET_AES static inline __m128i aesni_rounds(__m128i s, const struct round_keys *keys)
{
	for (int r = 1; r <= HASH_ROUNDS; r++)
		s = _mm_aesenc_si128(s, keys->key[r]);
	return s;
}

TARGET_AES static void hash6_aesni(const struct hash_key *hash_key, struct key_burst *burst)
{
	const struct round_keys keys = load_round_keys(hash_key->round6);

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

/*
 * The hashes of a burst do not depend on each other, so the CPU overlaps the rounds of many. For
 * the same reason nobody asks for the family here: an IPv6 packet's entry gets the hash of whatever
 * key4 holds, and then its own.
 */
TARGET_AES static void hash_burst_aesni(const struct hash_key *hash_key, struct key_burst *burst)
{
	const struct round_keys keys = load_round_keys(hash_key->round4);
	uint32_t n = burst->n;

	for (uint32_t i = 0; i < n; i++) {
		__m128i s = _mm_load_si128((const __m128i *)&burst->key4[i]);

		s = aesni_rounds(_mm_xor_si128(s, keys.key[0]), &keys);
		_mm_store_si128((__m128i *)&burst->hash[i], s);
	}
	if (burst->v6 != 0)
		hash6_aesni(hash_key, burst);
}
#endif

/*
 * ---- Which of the two
 */

static void (*hash_burst_best)(
	const struct hash_key *hash_key, struct key_burst *burst) = hash_burst_portable;

/* Before main(), so that no thread ever sees the pointer change. */
__attribute__((constructor)) static void select_hash_burst(void)
{
#ifdef __x86_64__
	__builtin_cpu_init();
	if (__builtin_cpu_supports("aes") && __builtin_cpu_supports("sse4.1"))
		hash_burst_best = hash_burst_aesni;
#endif
}

void hash_burst(const struct hash_key *hash_key, struct key_burst *burst)
{
	hash_burst_best(hash_key, burst);
}
