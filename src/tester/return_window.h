/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Records which sent packets have returned: one bit for each of the last `size` packet numbers.
 * Numbers continue from trial to trial, so that late packets of an earlier trial are recognized. A
 * packet carries the low 32 bits of its number; the high bits follow from the number of sent
 * packets.
 */

#include <stdbool.h>
#include <stdint.h>

enum return_kind {
	RETURN_FIRST,
	RETURN_TWICE,
	RETURN_LATE, /* packet of an earlier trial, or older than the last `size` */
	RETURN_NONE, /* no such packet was sent */
};

/* Counts of one trial. sent - returned packets are lost. */
struct loopback_counts {
	uint64_t sent, returned;
	uint64_t out_of_order; /* packets that returned after one with a higher number (RFC 4737) */
	uint64_t twice;        /* further copies of returned packets */
	uint64_t late;
};

struct return_window {
	uint64_t *seen;
	uint64_t size;     /* number of recorded packets: a power of two, 64 to 2^31 */
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

/* Records that n more packets were sent; n <= size. */
void return_window_sent(struct return_window *window, uint64_t n);

/* Counts a received packet. number: the low 32 bits that it carries. */
enum return_kind return_window_take(struct return_window *window, uint32_t number);
