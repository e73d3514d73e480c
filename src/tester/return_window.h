/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Which of the packets that were sent have come back: a bit for each of the last `size` numbers.
 * Numbers go on from trial to trial, so that what is late is not taken for a packet of the next
 * one. A packet carries 32 bits of its number; which one is meant follows from how many were sent.
 */

#include <stdbool.h>
#include <stdint.h>

enum return_kind {
	RETURN_FIRST,
	RETURN_TWICE,
	RETURN_LATE, /* of an earlier trial, or too old to tell whether it came before */
	RETURN_NONE, /* no such packet was sent */
};

/* Of one trial. What was sent and has not returned is lost. */
struct loopback_counts {
	uint64_t sent, returned;
	uint64_t out_of_order; /* of those returned: behind one with a higher number (RFC 4737) */
	uint64_t twice;        /* further copies of those returned */
	uint64_t late;
};

struct return_window {
	uint64_t *seen;
	uint64_t size;     /* numbers that are kept, a power of two, 64 to 2^31 */
	uint64_t next;     /* number of the next packet */
	uint64_t first;    /* of the trial */
	uint64_t expected; /* behind the highest that returned */
	struct loopback_counts counts;
};

/* False without memory. `next`: the number of the first packet. */
bool return_window_init(struct return_window *window, uint64_t size, uint64_t next);
void return_window_fini(struct return_window *window);

/* A new trial, with an empty account. */
void return_window_begin(struct return_window *window);

/* The next n packets have left, n <= size. */
void return_window_sent(struct return_window *window, uint64_t n);

/* A packet with such a number came; counts it. */
enum return_kind return_window_take(struct return_window *window, uint32_t number);
