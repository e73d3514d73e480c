/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Compares sixteen 16-bit tags, aligned to 32 bytes, with one value. */

#include <stdbool.h>
#include <stdint.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#define TAG_WAYS 16

/* Bit i of the result is set if tag i matches. */
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

static inline uint32_t tag_match(const uint16_t *tags, uint16_t tag)
{
#ifdef __SSE2__
	return tag_match_sse2(tags, tag);
#else
	return tag_match_portable(tags, tag);
#endif
}

/* Returns the byte offset of the first matching tag. If no tag matches, *any is false. */
static inline uint32_t tag_first_byte_of(uint32_t match, bool *any)
{
	*any = match != 0;
	return (uint32_t)__builtin_ctz(match | 1 << (TAG_WAYS - 1)) * 2;
}

#ifdef __AVX2__
static inline uint32_t tag_first_byte_avx2(const uint16_t *tags, uint16_t tag, bool *any)
{
	__m256i equal = _mm256_cmpeq_epi16(_mm256_load_si256((const __m256i *)(const void *)tags),
		_mm256_set1_epi16((int16_t)tag));
	uint32_t bytes = (uint32_t)_mm256_movemask_epi8(equal);

	*any = bytes != 0;
	return (uint32_t)__builtin_ctz(bytes | 1 << (2 * (TAG_WAYS - 1)));
}
#endif

static inline uint32_t tag_first_byte(const uint16_t *tags, uint16_t tag, bool *any)
{
#ifdef __AVX2__
	return tag_first_byte_avx2(tags, tag, any);
#else
	return tag_first_byte_of(tag_match(tags, tag), any);
#endif
}
