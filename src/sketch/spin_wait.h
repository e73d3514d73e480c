/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <sched.h>
#include <stdint.h>

/* After this number of iterations, the other thread is probably not running. */
#define SPINS_PER_YIELD 1024

/* *spins counts the iterations and must start at 0. */
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
