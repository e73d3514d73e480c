/* SPDX-License-Identifier: BSD-3-Clause */
#include "adapt/demand.h"

#include <math.h>

#define RISES      1.5    /* of the last window that the next one may bring, and half of it again */
#define BUSY       0.5    /* share of a window that was busy enough: small bursts cost more */
#define MEMORY     8      /* windows */
#define EXCESS_MIN (-0.5) /* whatever is measured */
#define EXCESS_MAX 3

/* Profiles may be wrong, and caches be others' too. */
static void correct(struct demand *demand, const struct demand_window *window)
{
	double busy = (double)window->packets * window->taken_ns * 1e-9, excess;

	if (window->predicted_ns <= 0 || busy < BUSY * window->seconds)
		return;
	excess = window->taken_ns / window->predicted_ns - 1;
	demand->excess += (excess - demand->excess) / MEMORY;
	demand->excess = fmin(fmax(demand->excess, EXCESS_MIN), EXCESS_MAX);
}

double demand_target_ns(struct demand *demand, const struct demand_window *window)
{
	double rate = (double)window->packets / window->seconds;
	double needed = rate, share = 1;

	if (demand->how == DEMAND_AHEAD) {
		/* Whatever comes after nothing is a rise of which nothing is known. */
		if (demand->rate > 0)
			needed += RISES * fmax(rate - demand->rate, 0);
		needed += (double)window->backlog / window->seconds;
		correct(demand, window);
		share = (1 - demand->reserve) / (1 + demand->excess);
	}
	demand->rate = rate;
	return share * 1e9 / needed;
}
