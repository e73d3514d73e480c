/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Converts ticks of a device clock to UTC with a linear function */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Straight line through the point (ticks, utc) */
struct clock_line {
	uint64_t ticks;
	int64_t utc;       /* ns since 1970-01-01 UTC */
	double ns_of_tick; /* 0: the function is not known yet */
};

/* Returns ns, negative if `ticks` is earlier. Both must be within half of the counter's range. */
static inline double clock_line_ns(const struct clock_line *line, uint64_t ticks)
{
	return (double)(int64_t)(ticks - line->ticks) * line->ns_of_tick;
}

/* Seqlock with one writer. During an update, readers keep their old function. */
struct clock_board {
	alignas(64) _Atomic uint32_t version; /* odd during an update */
	_Atomic uint64_t ticks;
	_Atomic int64_t utc;
	_Atomic double ns_of_tick;
};

static inline void clock_board_publish(struct clock_board *board, const struct clock_line *line)
{
	uint32_t version = atomic_load_explicit(&board->version, memory_order_relaxed);

	/*
	 * Each member is stored with release, so a reader of a new member also sees the odd
	 * version.
	 */
	atomic_store_explicit(&board->version, version + 1, memory_order_relaxed);
	atomic_store_explicit(&board->ticks, line->ticks, memory_order_release);
	atomic_store_explicit(&board->utc, line->utc, memory_order_release);
	atomic_store_explicit(&board->ns_of_tick, line->ns_of_tick, memory_order_release);
	/* Pairs with the first acquire in clock_board_read(). */
	atomic_store_explicit(&board->version, version + 2, memory_order_release);
}

/* Updates *line and *seen if there is a new version. During an update, changes nothing. */
static inline void clock_board_read(
	struct clock_board *board, uint32_t *seen, struct clock_line *line)
{
	uint32_t version = atomic_load_explicit(&board->version, memory_order_acquire);
	struct clock_line copy;

	if (version == *seen || version % 2 != 0)
		return;
	/* Each load pairs with the release store of the same member in clock_board_publish(). */
	copy.ticks = atomic_load_explicit(&board->ticks, memory_order_acquire);
	copy.utc = atomic_load_explicit(&board->utc, memory_order_acquire);
	copy.ns_of_tick = atomic_load_explicit(&board->ns_of_tick, memory_order_acquire);
	if (atomic_load_explicit(&board->version, memory_order_relaxed) != version)
		return;
	*seen = version;
	*line = copy;
}
