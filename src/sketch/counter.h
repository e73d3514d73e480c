/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Adding to one counter, by one thread or by several (the paper's Algorithm 4). Counters saturate
 * at their type's maximum and never wrap.
 *
 * No order is asked for: a counter is read by others only after its epoch was handed over
 * (parallel/epoch.h), which orders everything before it.
 *
 * Under fetch-and-add nobody can keep a counter from being raised between a look at it and the
 * addition, so adding stops at a guard below the maximum. Every thread can overshoot the guard by
 * one addition, and the room above it is larger than all of them together; a value from the guard
 * upwards stands for a saturated counter.
 */

#include <stdatomic.h>
#include <stdint.h>

/* Room for 2^10 threads that add a burst of 64 packets of less than 2^32 bytes at once. */
#define COUNTER32_GUARD (UINT32_MAX - (UINT32_C(1) << 16))
#define COUNTER64_GUARD (UINT64_MAX - (UINT64_C(1) << 48))

enum counter_policy {
	COUNTER_OWNED, /* one thread writes */
	COUNTER_CAS,
	COUNTER_ADD,
};

static inline uint32_t counter32_sum(uint32_t a, uint32_t b)
{
	uint32_t sum = a + b;

	return sum | -(uint32_t)(sum < a);
}

static inline uint64_t counter64_sum(uint64_t a, uint64_t b)
{
	uint64_t sum = a + b;

	return sum | -(uint64_t)(sum < a);
}

/* Adds 1 and returns the counter's value right after it. The policy is a constant. */
static inline __attribute__((always_inline)) uint32_t counter32_increment(
	uint32_t *counter, const enum counter_policy policy)
{
	_Atomic uint32_t *shared = (_Atomic uint32_t *)counter;
	uint32_t value;

	if (policy == COUNTER_OWNED)
		return *counter += *counter < UINT32_MAX;

	value = atomic_load_explicit(shared, memory_order_relaxed);
	if (policy == COUNTER_ADD)
		return value >= COUNTER32_GUARD
			       ? UINT32_MAX
			       : atomic_fetch_add_explicit(shared, 1, memory_order_relaxed) + 1;
	while (value != UINT32_MAX &&
		!atomic_compare_exchange_weak_explicit(
			shared, &value, value + 1, memory_order_relaxed, memory_order_relaxed))
		;
	return value + (value < UINT32_MAX);
}

static inline __attribute__((always_inline)) uint64_t counter64_add(
	uint64_t *counter, uint32_t amount, const enum counter_policy policy)
{
	_Atomic uint64_t *shared = (_Atomic uint64_t *)counter;
	uint64_t value;

	if (policy == COUNTER_OWNED)
		return *counter = counter64_sum(*counter, amount);

	value = atomic_load_explicit(shared, memory_order_relaxed);
	if (policy == COUNTER_ADD)
		return value >= COUNTER64_GUARD
			       ? UINT64_MAX
			       : atomic_fetch_add_explicit(shared, amount, memory_order_relaxed) +
					 amount;
	while (value != UINT64_MAX &&
		!atomic_compare_exchange_weak_explicit(shared, &value, counter64_sum(value, amount),
			memory_order_relaxed, memory_order_relaxed))
		;
	return counter64_sum(value, amount);
}

/*
 * The same for several threads, adding any amount, and the value right before it is returned: the
 * type's maximum where the counter was saturated.
 */
static inline __attribute__((always_inline)) uint32_t counter32_fetch_add(
	uint32_t *counter, uint32_t amount, const enum counter_policy policy)
{
	_Atomic uint32_t *shared = (_Atomic uint32_t *)counter;
	uint32_t value = atomic_load_explicit(shared, memory_order_relaxed);

	if (policy == COUNTER_ADD)
		return value >= COUNTER32_GUARD
			       ? UINT32_MAX
			       : atomic_fetch_add_explicit(shared, amount, memory_order_relaxed);
	while (value != UINT32_MAX &&
		!atomic_compare_exchange_weak_explicit(shared, &value, counter32_sum(value, amount),
			memory_order_relaxed, memory_order_relaxed))
		;
	return value;
}

static inline __attribute__((always_inline)) uint64_t counter64_fetch_add(
	uint64_t *counter, uint64_t amount, const enum counter_policy policy)
{
	_Atomic uint64_t *shared = (_Atomic uint64_t *)counter;
	uint64_t value = atomic_load_explicit(shared, memory_order_relaxed);

	if (policy == COUNTER_ADD)
		return value >= COUNTER64_GUARD
			       ? UINT64_MAX
			       : atomic_fetch_add_explicit(shared, amount, memory_order_relaxed);
	while (value != UINT64_MAX &&
		!atomic_compare_exchange_weak_explicit(shared, &value, counter64_sum(value, amount),
			memory_order_relaxed, memory_order_relaxed))
		;
	return value;
}
