/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Counters with a single writer, split into two parts to halve the cache footprint: low + rest *
 * HALF, where HALF is half of the range of low. If low would overflow, multiples of HALF move to
 * rest, and low keeps HALF or more. While low is below HALF, rest is 0 and is not accessed. The
 * bit `top` extends rest to the range of an unsplit counter.
 *
 * `wide` is a compile-time constant. true: counters of 64 bits. false: counters of 32 bits.
 */

#include <stdbool.h>
#include <stdint.h>

#include "sketch/counter.h"

struct counter_parts {
	void *low, *rest;
	uint8_t *top; /* highest bit of rest, one bit per counter */
};

static inline __attribute__((always_inline)) uint32_t counter_parts_bits(const bool wide)
{
	return wide ? 32 : 16;
}

static inline __attribute__((always_inline)) uint64_t counter_parts_half(const bool wide)
{
	return UINT64_C(1) << (counter_parts_bits(wide) - 1);
}

static inline __attribute__((always_inline)) uint64_t counter_part_max(const bool wide)
{
	return 2 * counter_parts_half(wide) - 1;
}

static inline __attribute__((always_inline)) uint64_t counter_part(
	const void *part, uint64_t i, const bool wide)
{
	return wide ? ((const uint32_t *)part)[i] : ((const uint16_t *)part)[i];
}

static inline __attribute__((always_inline)) void counter_part_set(
	void *part, uint64_t i, uint64_t value, const bool wide)
{
	if (wide)
		((uint32_t *)part)[i] = (uint32_t)value;
	else
		((uint16_t *)part)[i] = (uint16_t)value;
}

static inline __attribute__((always_inline)) void *counter_part_at(
	void *part, uint64_t i, const bool wide)
{
	return (uint8_t *)part + i * (wide ? sizeof(uint32_t) : sizeof(uint16_t));
}

static inline uint64_t counter_parts_get(
	const struct counter_parts *parts, uint64_t i, const bool wide)
{
	uint64_t low = counter_part(parts->low, i, wide), rest;

	if (low < counter_parts_half(wide))
		return low;
	rest = counter_part(parts->rest, i, wide) | (uint64_t)(parts->top[i / 8] >> i % 8 & 1)
							    << counter_parts_bits(wide);
	return low + rest * counter_parts_half(wide);
}

static inline void counter_parts_set(
	const struct counter_parts *parts, uint64_t i, uint64_t value, const bool wide)
{
	const uint64_t half = counter_parts_half(wide);
	uint64_t rest = value < half ? 0 : (value - half) / half;
	uint8_t bit = (uint8_t)(1 << i % 8);

	counter_part_set(parts->low, i, value - rest * half, wide);
	counter_part_set(parts->rest, i, rest, wide);
	if (rest >> counter_parts_bits(wide) != 0)
		parts->top[i / 8] |= bit;
	else
		parts->top[i / 8] &= (uint8_t)~bit;
}

/* Saturates at the maximum of an unsplit counter. */
static __attribute__((noinline, cold)) void counter_parts_carry(
	const struct counter_parts *parts, uint64_t i, uint64_t more, const bool wide)
{
	const uint64_t most = wide ? UINT64_MAX : UINT32_MAX;
	uint64_t value = counter_parts_get(parts, i, wide);

	counter_parts_set(parts, i, more < most - value ? value + more : most, wide);
}

/* The addition of `amount` has wrapped low. Restores low, and adds the amount with carry. */
static __attribute__((noinline, cold)) void counter_parts_wrapped(
	const struct counter_parts *parts, uint64_t i, uint64_t amount, const bool wide)
{
	counter_part_set(parts->low, i, counter_part(parts->low, i, wide) - amount, wide);
	counter_parts_carry(parts, i, amount, wide);
}

/* The amount must be within the range of low. Returns true if low wrapped. */
static inline __attribute__((always_inline)) bool counter_part_add(
	void *part, uint64_t i, uint64_t amount, const bool wide)
{
	uint32_t *low32 = (uint32_t *)part + i;
	uint16_t *low16 = (uint16_t *)part + i;

	if (wide) {
		*low32 += (uint32_t)amount;
		return *low32 < amount;
	}
	/* Force a reload from memory, because registers are scarce. */
	__asm__("" : "+m"(*low16));
	*low16 = (uint16_t)(*low16 + amount);
	return *low16 < amount;
}

/* The amount must be within the range of low unless `any`, a compile-time constant, is true. */
static inline __attribute__((always_inline)) void counter_parts_add(
	const struct counter_parts *parts, uint64_t i, uint64_t amount, const bool wide,
	const bool any)
{
	if (any && __builtin_expect(amount > counter_part_max(wide), 0))
		counter_parts_carry(parts, i, amount, wide);
	else if (__builtin_expect(counter_part_add(parts->low, i, amount, wide), 0))
		counter_parts_wrapped(parts, i, amount, wide);
}
