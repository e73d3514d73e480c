/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Computes the time per packet that a worker may use in the next window, from its packet rate in
 * the last windows.
 */

#include <stdint.h>

#define DEMAND_WINDOW_S 0.01
#define DEMAND_WINDOWS  4

enum demand_how {
	/*
	 * Plans for the last rate, plus 1.5 times its rise, plus the waiting packets. The rise is
	 * the difference to the highest of the DEMAND_WINDOWS rates before.
	 */
	DEMAND_AHEAD,
	/* Plans for the last rate: equation (4) of Tangari et al. (docs/ADAPTIVE.md). */
	DEMAND_RATE,
};

struct demand_window {
	double seconds;
	uint64_t packets;
	uint64_t backlog;
};

struct demand {
	enum demand_how how;
	double reserve; /* share of the time to keep idle, 0 to 1; not for DEMAND_RATE */
	/* packets/s in the last windows, latest first */
	double rates[DEMAND_WINDOWS];
};

/* Returns ns per packet; INFINITY if no packets arrived. */
double demand_target_ns(struct demand *demand, const struct demand_window *window);
