/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Which of the sixteen tags of a cache line equal one value: bit i of the result is tag i. Every
 * variant that the compiler's target offers gives the same result; tag_match() is the widest.
 */

#include <stdatomic.h>
#include <stdint.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#define TAG_WAYS 16

static inline uint32_t tag_match_portable(const uint32_t *tags, uint32_t tag)
{
	uint32_t match = 0;

	for (uint32_t i = 0; i < TAG_WAYS; i++)
		match |= (uint32_t)(tags[i] == tag) << i;
	return match;
}

#ifdef __SSE2__
static inline uint32_t tag_match_sse2(const uint32_t *tags, uint32_t tag)
{
	__m128i want = _mm_set1_epi32((int)tag);
	uint32_t match = 0;

	for (uint32_t i = 0; i < TAG_WAYS; i += 4) {
		__m128i have = _mm_load_si128((const __m128i *)(const void *)(tags + i));
		int mask = _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(have, want)));

		match |= (uint32_t)mask << i;
	}
	return match;
}
#endif

#ifdef __AVX2__
static inline uint32_t tag_match_avx2(const uint32_t *tags, uint32_t tag)
{
	__m256i want = _mm256_set1_epi32((int)tag);
	uint32_t match = 0;

	for (uint32_t i = 0; i < TAG_WAYS; i += 8) {
		__m256i have = _mm256_load_si256((const __m256i *)(const void *)(tags + i));
		int mask = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(have, want)));

		match |= (uint32_t)mask << i;
	}
	return match;
}
#endif

#ifdef __AVX512F__
static inline uint32_t tag_match_avx512(const uint32_t *tags, uint32_t tag)
{
	return _mm512_cmpeq_epi32_mask(
		_mm512_load_si512((const void *)tags), _mm512_set1_epi32((int)tag));
}
#endif

/* tags is aligned to 64 bytes. */
static inline uint32_t tag_match(const uint32_t *tags, uint32_t tag)
{
#if defined(__AVX512F__)
	return tag_match_avx512(tags, tag);
#elif defined(__AVX2__)
	return tag_match_avx2(tags, tag);
#elif defined(__SSE2__)
	return tag_match_sse2(tags, tag);
#else
	return tag_match_portable(tags, tag);
#endif
}

#if defined(__SANITIZE_THREAD__)
#define TAG_MATCH_BY_ATOMICS 1
#elif defined(__has_feature)
#define TAG_MATCH_BY_ATOMICS __has_feature(thread_sanitizer)
#else
#define TAG_MATCH_BY_ATOMICS 0
#endif

/*
 * The same for tags that other threads write, each tag as a relaxed load would read it. C has no
 * word for a vector load that may race; processors load aligned elements of a vector untorn.
 */
static inline uint32_t tag_match_shared(const uint32_t *tags, uint32_t tag)
{
#if TAG_MATCH_BY_ATOMICS
	const _Atomic uint32_t *shared = (const _Atomic uint32_t *)tags;
	uint32_t match = 0;

	for (uint32_t i = 0; i < TAG_WAYS; i++)
		match |= (uint32_t)(atomic_load_explicit(&shared[i], memory_order_relaxed) == tag)
			 << i;
	return match;
#else
	return tag_match(tags, tag);
#endif
}
