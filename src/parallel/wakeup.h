/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Lets the consumer of a ring sleep until the producer adds an entry. The consumer sets `asleep`,
 * then checks the ring. The producer adds an entry, then loads `asleep`. So at least one sees the
 * other.
 */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

struct wakeup {
	/* Set by the consumer, cleared by the producer. */
	alignas(64) _Atomic uint32_t asleep;
};

/* Must be called while the ring is empty. Only the second and later calls sleep, at most `ms`. */
void wakeup_wait(struct wakeup *wakeup, uint32_t ms);

/* Use wakeup_look() instead. */
void wakeup_signal(struct wakeup *wakeup);

/* Store-load barrier. ThreadSanitizer does not support fences, so it gets an atomic operation. */
static inline void wakeup_order(struct wakeup *wakeup)
{
#ifdef __SANITIZE_THREAD__
	atomic_fetch_add_explicit(&wakeup->asleep, 0, memory_order_seq_cst);
#else
	(void)wakeup;
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* The producer calls this after it has added an entry. */
static inline void wakeup_look(struct wakeup *wakeup)
{
	/* Pairs with wakeup_order() in wakeup_wait(). */
	wakeup_order(wakeup);
	if (atomic_load_explicit(&wakeup->asleep, memory_order_relaxed) != 0)
		wakeup_signal(wakeup);
}
