/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Records which of the last `size` sent packets have returned. Numbers continue from trial to
 * trial, so that late packets of an earlier trial are recognized.
 */

#include <stdbool.h>
#include <stdint.h>

enum return_kind {
	RETURN_FIRST,
	RETURN_TWICE,
	RETURN_LATE, /* earlier trial, or before the last `size` packets */
	RETURN_NONE,
};

struct loopback_counts {
	uint64_t sent, returned;
	uint64_t out_of_order; /* returned after a packet with a higher number (RFC 4737) */
	uint64_t twice;        /* further copies of returned packets */
	uint64_t late;
};

struct return_window {
	uint64_t *seen;
	uint64_t size; /* power of two, 64 to 2^31 */
	uint64_t next;
	uint64_t first;
	uint64_t expected; /* highest returned number + 1 */
	struct loopback_counts counts;
};

bool return_window_init(struct return_window *window, uint64_t size, uint64_t next);
void return_window_fini(struct return_window *window);

void return_window_begin(struct return_window *window);

void return_window_sent(struct return_window *window, uint64_t n);

/* number: low 32 bits of the packet's number. */
enum return_kind return_window_take(struct return_window *window, uint32_t number);
