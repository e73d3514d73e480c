/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Lets the consumer of a ring sleep until the producer adds an entry. The consumer sets `asleep`,
 * reads the ring again, and sleeps if it is still empty. The producer adds an entry, then reads
 * `asleep`. Therefore the consumer sees the entry, or the producer sees `asleep`, or both.
 */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

struct wakeup {
	/* 1: the consumer sleeps, or will sleep. Set by the consumer. Cleared by the producer. */
	alignas(64) _Atomic uint32_t asleep;
};

/*
 * Called by the consumer each time it finds the ring empty. The first call sets `asleep` and
 * returns. The second call sleeps until the producer wakes the consumer, for `ms` or less.
 */
void wakeup_wait(struct wakeup *wakeup, uint32_t ms);

/* Wakes the consumer. Only for wakeup_look(). */
void wakeup_signal(struct wakeup *wakeup);

/*
 * Orders earlier stores of this thread before its later loads. ThreadSanitizer does not support
 * fences, so it gets an atomic operation.
 */
static inline void wakeup_order(struct wakeup *wakeup)
{
#ifdef __SANITIZE_THREAD__
	atomic_fetch_add_explicit(&wakeup->asleep, 0, memory_order_seq_cst);
#else
	(void)wakeup;
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* Called by the producer after it has added an entry. Wakes the consumer if it sleeps. */
static inline void wakeup_look(struct wakeup *wakeup)
{
	/* Pairs with wakeup_order() in wakeup_wait(). The entry is in the ring already. */
	wakeup_order(wakeup);
	if (atomic_load_explicit(&wakeup->asleep, memory_order_relaxed) != 0)
		wakeup_signal(wakeup);
}
