/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Waiting for another thread that is about to finish, and a lock that is made of it. */

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SPINS_PER_YIELD 1024 /* a thread that waits longer waits for one that does not run */

/* One turn of a loop that waits; *spins counts them and starts at 0. */
static inline void spin_wait(uint32_t *spins)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#endif
	if (++*spins % SPINS_PER_YIELD == 0)
		sched_yield();
}

struct spinlock {
	_Atomic bool held;
};

static inline void spinlock_lock(struct spinlock *lock)
{
	uint32_t spins = 0;

	/* Acquire: pairs with the release in spinlock_unlock(). */
	while (atomic_exchange_explicit(&lock->held, true, memory_order_acquire))
		while (atomic_load_explicit(&lock->held, memory_order_relaxed))
			spin_wait(&spins);
}

static inline void spinlock_unlock(struct spinlock *lock)
{
	/* Release: pairs with the acquire in spinlock_lock(). */
	atomic_store_explicit(&lock->held, false, memory_order_release);
}
