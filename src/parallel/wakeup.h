/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Sleep of the consumer of a ring until its producer puts something into it. The consumer announces
 * that it will sleep, reads the ring again, and then sleeps. The producer fills the ring and then
 * reads the announcement. One of the two sees what the other did.
 */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

struct wakeup {
	/* 1: announced. Written by both. */
	alignas(64) _Atomic uint32_t asleep;
};

/* The consumer found nothing: announces, or sleeps if it has announced. For `ms` at most. */
void wakeup_wait(struct wakeup *wakeup, uint32_t ms);

/* Wakes the consumer. */
void wakeup_signal(struct wakeup *wakeup);

/* Orders a store of this thread before its later loads. TSan has no fences. */
static inline void wakeup_order(struct wakeup *wakeup)
{
#ifdef __SANITIZE_THREAD__
	atomic_fetch_add_explicit(&wakeup->asleep, 0, memory_order_seq_cst);
#else
	(void)wakeup;
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* The producer has put something into the ring. */
static inline void wakeup_look(struct wakeup *wakeup)
{
	/* Pairs with wakeup_order() in wakeup_wait(): what was put comes first. */
	wakeup_order(wakeup);
	if (atomic_load_explicit(&wakeup->asleep, memory_order_relaxed) != 0)
		wakeup_signal(wakeup);
}
