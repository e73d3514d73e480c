/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Lets the consumer of a ring sleep until its producer adds an entry. The consumer announces that
 * it will sleep, reads the ring again, and then sleeps. The producer fills the ring and then reads
 * the announcement. Therefore at least one of them sees the store of the other.
 */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

struct wakeup {
	/* 1: announced. Written by both. */
	alignas(64) _Atomic uint32_t asleep;
};

/*
 * Called by the consumer if the ring was empty. Announces sleep or, if announced before, sleeps for
 * at most `ms`.
 */
void wakeup_wait(struct wakeup *wakeup, uint32_t ms);

/* Wakes the consumer. Called by wakeup_look(). */
void wakeup_signal(struct wakeup *wakeup);

/* Orders a store of this thread before its later loads. TSan does not support fences. */
static inline void wakeup_order(struct wakeup *wakeup)
{
#ifdef __SANITIZE_THREAD__
	atomic_fetch_add_explicit(&wakeup->asleep, 0, memory_order_seq_cst);
#else
	(void)wakeup;
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* Called by the producer after it added an entry. Wakes the consumer if needed. */
static inline void wakeup_look(struct wakeup *wakeup)
{
	/* Pairs with wakeup_order() in wakeup_wait(): the entry is stored before. */
	wakeup_order(wakeup);
	if (atomic_load_explicit(&wakeup->asleep, memory_order_relaxed) != 0)
		wakeup_signal(wakeup);
}
