/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Reproducible random numbers: xoshiro256** (Blackman and Vigna, Scrambled linear pseudorandom
 * number generators, 2021), seeded by SplitMix64 (Steele, Lea and Flood, Fast splittable
 * pseudorandom number generators, 2014).
 */

#include <stdint.h>

#include "base/assertion.h"

struct random {
	uint64_t s[4];
};

/* Output function of SplitMix64: a permutation of 64 bits. */
static inline uint64_t random_mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static inline uint64_t random_split(uint64_t *state)
{
	*state += UINT64_C(0x9e3779b97f4a7c15);
	return random_mix(*state);
}

static inline void random_init(struct random *random, uint64_t seed)
{
	for (unsigned int i = 0; i < 4; i++)
		random->s[i] = random_split(&seed);
}

static inline uint64_t random_next(struct random *random)
{
	uint64_t *s = random->s;
	uint64_t five = s[1] * 5;
	uint64_t result = (five << 7 | five >> 57) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = s[3] << 45 | s[3] >> 19;
	return result;
}

/* Slightly biased: relative probabilities differ by at most bound / 2^64. */
static inline uint64_t random_below(struct random *random, uint64_t bound)
{
	ASSERT(bound, >, 0u);
	return (uint64_t)((unsigned __int128)random_next(random) * bound >> 64);
}
