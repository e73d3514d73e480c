/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Records which sent packets have returned: one bit for each of the last `size` numbers. Numbers
 * continue from trial to trial, so that a late packet is not taken for one of the next trial. A
 * packet carries 32 bits of its number; the number of sent packets gives the rest.
 */

#include <stdbool.h>
#include <stdint.h>

enum return_kind {
	RETURN_FIRST,
	RETURN_TWICE,
	RETURN_LATE, /* packet of an earlier trial, or too old to detect duplicates */
	RETURN_NONE, /* no such packet was sent */
};

/* Counts of one trial. Packets that were sent and did not return are lost. */
struct loopback_counts {
	uint64_t sent, returned;
	uint64_t out_of_order; /* returned packets after one with a higher number (RFC 4737) */
	uint64_t twice;        /* further copies of returned packets */
	uint64_t late;
};

struct return_window {
	uint64_t *seen;
	uint64_t size;     /* number of remembered numbers: a power of two, 64 to 2^31 */
	uint64_t next;     /* number of the next packet */
	uint64_t first;    /* first number of the trial */
	uint64_t expected; /* highest returned number + 1 */
	struct loopback_counts counts;
};

/* Returns false if out of memory. next: number of the first packet. */
bool return_window_init(struct return_window *window, uint64_t size, uint64_t next);
void return_window_fini(struct return_window *window);

/* Starts a trial with counts of 0. */
void return_window_begin(struct return_window *window);

/* Adds the next n sent packets, n <= size. */
void return_window_sent(struct return_window *window, uint64_t n);

/* Counts a received packet with this number. */
enum return_kind return_window_take(struct return_window *window, uint32_t number);
