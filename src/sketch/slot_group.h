/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Compares the sixteen 32-bit slots of a cache line with one value. */

#include <stdbool.h>
#include <stdint.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define SLOT_GROUP 16

/* Bit i of the result is set if (slots[i] & mask) == value. */
static inline uint32_t slot_group_match_portable(
	const uint32_t *slots, uint32_t mask, uint32_t value)
{
	uint32_t match = 0;

	for (uint32_t i = 0; i < SLOT_GROUP; i++)
		match |= (uint32_t)((slots[i] & mask) == value) << i;
	return match;
}

#ifdef __SSE2__
static inline __m128i slot_group_equal(const __m128i *slots, __m128i mask, __m128i value)
{
	return _mm_cmpeq_epi32(_mm_and_si128(_mm_load_si128(slots), mask), value);
}

static inline uint32_t slot_group_match_sse2(const uint32_t *slots, uint32_t mask, uint32_t value)
{
	const __m128i *have = (const __m128i *)(const void *)slots;
	const __m128i masks = _mm_set1_epi32((int32_t)mask);
	const __m128i values = _mm_set1_epi32((int32_t)value);
	__m128i low = _mm_packs_epi32(
		slot_group_equal(have, masks, values), slot_group_equal(have + 1, masks, values));
	__m128i high = _mm_packs_epi32(slot_group_equal(have + 2, masks, values),
		slot_group_equal(have + 3, masks, values));

	return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high));
}
#endif

/* Returns true if a slot has the value. `slots` are aligned to 64 bytes. */
static inline bool slot_group_has(const uint32_t *slots, uint32_t value)
{
#ifdef __SSE2__
	const __m128i *have = (const __m128i *)(const void *)slots;
	const __m128i values = _mm_set1_epi32((int32_t)value);
	__m128i low =
		_mm_or_si128(_mm_cmpeq_epi32(have[0], values), _mm_cmpeq_epi32(have[1], values));
	__m128i high =
		_mm_or_si128(_mm_cmpeq_epi32(have[2], values), _mm_cmpeq_epi32(have[3], values));

	return _mm_movemask_epi8(_mm_or_si128(low, high)) != 0;
#else
	return slot_group_match_portable(slots, UINT32_MAX, value) != 0;
#endif
}

/* `slots` are aligned to 64 bytes. */
static inline uint32_t slot_group_match(const uint32_t *slots, uint32_t mask, uint32_t value)
{
#ifdef __SSE2__
	return slot_group_match_sse2(slots, mask, value);
#else
	return slot_group_match_portable(slots, mask, value);
#endif
}
