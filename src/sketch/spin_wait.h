/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Waiting for another thread that is about to finish. */

#include <sched.h>
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
