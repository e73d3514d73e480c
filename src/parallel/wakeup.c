/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/wakeup.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void wakeup_wait(struct wakeup *wakeup, uint32_t ms)
{
	const struct timespec timeout = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	if (atomic_load_explicit(&wakeup->asleep, memory_order_relaxed) == 0) {
		atomic_store_explicit(&wakeup->asleep, 1, memory_order_relaxed);
		/*
		 * Pairs with wakeup_order() in wakeup_look(). The caller then checks the ring
		 * again.
		 */
		wakeup_order(wakeup);
		return;
	}
	syscall(SYS_futex, &wakeup->asleep, FUTEX_WAIT_PRIVATE, 1, &timeout, NULL, 0);
}

void wakeup_signal(struct wakeup *wakeup)
{
	atomic_store_explicit(&wakeup->asleep, 0, memory_order_relaxed);
	syscall(SYS_futex, &wakeup->asleep, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
