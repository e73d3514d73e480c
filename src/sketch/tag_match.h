/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Which of sixteen 16-bit tags equal one value: bit i of the result is tag i. The variants give the
 * same result; tag_match() is the best that the compiler's target offers.
 */

#include <stdint.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#define TAG_WAYS 16

static inline uint32_t tag_match_portable(const uint16_t *tags, uint16_t tag)
{
	uint32_t match = 0;

	for (uint32_t i = 0; i < TAG_WAYS; i++)
		match |= (uint32_t)(tags[i] == tag) << i;
	return match;
}

#ifdef __SSE2__
static inline uint32_t tag_match_sse2(const uint16_t *tags, uint16_t tag)
{
	const __m128i *have = (const __m128i *)(const void *)tags;
	__m128i want = _mm_set1_epi16((int16_t)tag);
	__m128i low = _mm_cmpeq_epi16(_mm_load_si128(have), want);
	__m128i high = _mm_cmpeq_epi16(_mm_load_si128(have + 1), want);

	return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high));
}
#endif

/* tags is aligned to 32 bytes. */
static inline uint32_t tag_match(const uint16_t *tags, uint16_t tag)
{
#ifdef __SSE2__
	return tag_match_sse2(tags, tag);
#else
	return tag_match_portable(tags, tag);
#endif
}
