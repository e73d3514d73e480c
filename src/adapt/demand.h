/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Computes the target time per packet for the next window from the last windows of a worker. If
 * several workers share a choice, the smallest of their targets applies.
 */

#include <stdint.h>

#define DEMAND_WINDOW_S 0.01
#define DEMAND_WINDOWS  4

enum demand_how {
	/*
	 * For the rate, 1.5 times its rise, and the backlog, within a window. A rate reached within
	 * DEMAND_WINDOWS is not a rise.
	 */
	DEMAND_AHEAD,
	DEMAND_RATE, /* for the rate only: (4) of Tangari et al. */
};

struct demand_window {
	double seconds;
	uint64_t packets; /* packets received */
	uint64_t backlog; /* packets waiting at its end */
};

struct demand {
	enum demand_how how;
	double reserve; /* share of the time to keep idle, 0 to 1; only DEMAND_AHEAD */
	double rates
		[DEMAND_WINDOWS]; /* packets/s of the last windows, latest first; 0 before the first */
};

/* Returns ns per packet; INFINITY without packets. */
double demand_target_ns(struct demand *demand, const struct demand_window *window);
