/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Saturating counters (Algorithm 4 of Wu et al. 2016). Relaxed ordering is enough: other threads
 * read a counter after the handover of its epoch, which orders all earlier additions.
 *
 * With fetch-and-add, another thread may raise a counter between check and addition. Additions
 * therefore stop at a guard value. A counter at or above the guard is treated as saturated.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "sketch/sketch.h"

/* Leave room for 2^10 threads that each add a burst of 64 packets, of less than 2^32 bytes each. */
#define COUNTER32_GUARD (UINT32_MAX - (UINT32_C(1) << 16))
#define COUNTER64_GUARD (UINT64_MAX - (UINT64_C(1) << 48))

enum counter_policy {
	COUNTER_OWNED, /* single writer */
	COUNTER_CAS,
	COUNTER_ADD,
};

static inline enum counter_policy counter_policy_of(enum sketch_atomic atomic)
{
	return atomic == ATOMIC_ADD ? COUNTER_ADD : COUNTER_CAS;
}

static inline __attribute__((always_inline)) uint32_t counter32_sum(uint32_t a, uint32_t b)
{
	uint32_t sum = a + b;

	if (__builtin_constant_p(b) && b == 1)
		return a + (a < UINT32_MAX);
	return sum | -(uint32_t)(sum < a);
}

static inline uint64_t counter64_sum(uint64_t a, uint64_t b)
{
	uint64_t sum = a + b;

	return sum | -(uint64_t)(sum < a);
}

/* The calling thread also writes the counter. */
static inline __attribute__((always_inline)) uint32_t counter32_read(
	const uint32_t *counter, const enum counter_policy policy)
{
	return policy == COUNTER_OWNED ? *counter
				       : atomic_load_explicit((const _Atomic uint32_t *)counter,
						 memory_order_relaxed);
}

static inline __attribute__((always_inline)) uint64_t counter64_read(
	const uint64_t *counter, const enum counter_policy policy)
{
	return policy == COUNTER_OWNED ? *counter
				       : atomic_load_explicit((const _Atomic uint64_t *)counter,
						 memory_order_relaxed);
}

/* `value` was just read from the counter. `policy` is a compile-time constant. */
static inline __attribute__((always_inline)) void counter32_add(
	uint32_t *counter, uint32_t value, uint32_t amount, const enum counter_policy policy)
{
	_Atomic uint32_t *shared = (_Atomic uint32_t *)counter;

	if (policy == COUNTER_OWNED)
		*counter = counter32_sum(value, amount);
	else if (policy == COUNTER_ADD && value < COUNTER32_GUARD)
		atomic_fetch_add_explicit(shared, amount, memory_order_relaxed);
	else if (policy == COUNTER_CAS)
		while (value != UINT32_MAX && !atomic_compare_exchange_weak_explicit(shared, &value,
						      counter32_sum(value, amount),
						      memory_order_relaxed, memory_order_relaxed))
			;
}

static inline __attribute__((always_inline)) void counter64_add(
	uint64_t *counter, uint64_t value, uint64_t amount, const enum counter_policy policy)
{
	_Atomic uint64_t *shared = (_Atomic uint64_t *)counter;

	if (policy == COUNTER_OWNED)
		*counter = counter64_sum(value, amount);
	else if (policy == COUNTER_ADD && value < COUNTER64_GUARD)
		atomic_fetch_add_explicit(shared, amount, memory_order_relaxed);
	else if (policy == COUNTER_CAS)
		while (value != UINT64_MAX && !atomic_compare_exchange_weak_explicit(shared, &value,
						      counter64_sum(value, amount),
						      memory_order_relaxed, memory_order_relaxed))
			;
}

/*
 * With COUNTER_ADD the counter stops at the guard, so that other threads' additions cannot wrap
 * it.
 */
static inline void counter32_add_much(
	uint32_t *counter, uint64_t amount, const enum counter_policy policy)
{
	_Atomic uint32_t *shared = (_Atomic uint32_t *)counter;
	const uint32_t most = policy == COUNTER_ADD ? COUNTER32_GUARD : UINT32_MAX;
	uint32_t value = atomic_load_explicit(shared, memory_order_relaxed), sum;

	do {
		if (value >= most)
			return;
		sum = amount < most - value ? value + (uint32_t)amount : most;
	} while (!atomic_compare_exchange_weak_explicit(
		shared, &value, sum, memory_order_relaxed, memory_order_relaxed));
}

static inline void counter64_add_much(
	uint64_t *counter, uint64_t amount, const enum counter_policy policy)
{
	_Atomic uint64_t *shared = (_Atomic uint64_t *)counter;
	const uint64_t most = policy == COUNTER_ADD ? COUNTER64_GUARD : UINT64_MAX;
	uint64_t value = atomic_load_explicit(shared, memory_order_relaxed), sum;

	do {
		if (value >= most)
			return;
		sum = amount < most - value ? value + amount : most;
	} while (!atomic_compare_exchange_weak_explicit(
		shared, &value, sum, memory_order_relaxed, memory_order_relaxed));
}

/* A weight can exceed the room above the guard, so that this does not use fetch-and-add. */
static inline __attribute__((always_inline)) void counter32_add_weight(
	uint32_t *counter, uint32_t value, uint64_t amount, const enum counter_policy policy)
{
	if (policy == COUNTER_ADD)
		counter32_add_much(counter, amount, policy);
	else
		counter32_add(counter, value, amount < UINT32_MAX ? (uint32_t)amount : UINT32_MAX,
			policy);
}

static inline __attribute__((always_inline)) void counter64_add_weight(
	uint64_t *counter, uint64_t value, uint64_t amount, const enum counter_policy policy)
{
	if (policy == COUNTER_ADD)
		counter64_add_much(counter, amount, policy);
	else
		counter64_add(counter, value, amount, policy);
}

/* The sum wraps at 2^64. Returns the old value. */
static inline __attribute__((always_inline)) uint64_t sum64_add(
	_Atomic uint64_t *sum, uint64_t amount, const enum counter_policy policy)
{
	uint64_t value;

	if (policy == COUNTER_ADD)
		return atomic_fetch_add_explicit(sum, amount, memory_order_relaxed);
	value = atomic_load_explicit(sum, memory_order_relaxed);
	if (policy == COUNTER_OWNED) {
		atomic_store_explicit(sum, value + amount, memory_order_relaxed);
		return value;
	}
	while (!atomic_compare_exchange_weak_explicit(
		sum, &value, value + amount, memory_order_relaxed, memory_order_relaxed))
		;
	return value;
}

/* The sum saturates at the guard. Returns the old value. */
static inline __attribute__((always_inline)) uint64_t sum64_add_weight(
	_Atomic uint64_t *sum, uint64_t amount, const enum counter_policy policy)
{
	uint64_t value = atomic_load_explicit(sum, memory_order_relaxed), more;

	do {
		if (value >= COUNTER64_GUARD)
			break;
		more = amount < COUNTER64_GUARD - value ? value + amount : COUNTER64_GUARD;
		if (policy == COUNTER_OWNED) {
			atomic_store_explicit(sum, more, memory_order_relaxed);
			break;
		}
	} while (!atomic_compare_exchange_weak_explicit(
		sum, &value, more, memory_order_relaxed, memory_order_relaxed));
	return value;
}
