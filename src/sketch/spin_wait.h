/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Spin loop that waits for another thread which is about to finish. */

#include <sched.h>
#include <stdint.h>

#define SPINS_PER_YIELD 1024 /* a longer wait means that the other thread does not run */

/* One iteration of a waiting loop. *spins counts the iterations and must start at 0. */
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
