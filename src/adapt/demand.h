/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * How long a packet may take in the next window, by what came in the last ones. Of a worker; where
 * several follow the same choice the least time of theirs holds.
 */

#include <stdint.h>

#define DEMAND_WINDOW_S 0.01
#define DEMAND_WINDOWS  4

enum demand_how {
	/* For the rate, 1.5 times its rise, and what waits, within a window. A rate that was there
	 * within DEMAND_WINDOWS is no rise. */
	DEMAND_AHEAD,
	DEMAND_RATE, /* for the rate alone: (4) of Tangari et al. */
};

struct demand_window {
	double seconds;
	uint64_t packets; /* that came, and were not lost before they were polled */
	uint64_t backlog; /* that wait after it */
};

struct demand {
	enum demand_how how;
	double reserve;               /* share of the time that is left free, of DEMAND_AHEAD */
	double rates[DEMAND_WINDOWS]; /* of the last ones, the latest first; 0 before the first */
};

/* INFINITY where nothing came. */
double demand_target_ns(struct demand *demand, const struct demand_window *window);
