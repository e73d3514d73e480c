/* SPDX-License-Identifier: BSD-3-Clause */
#include "adapt/demand.h"

#include <math.h>
#include <string.h>

#define RISES 1.5 /* windows from the middle of a window to the end of the next one */

double demand_target_ns(struct demand *demand, const struct demand_window *window)
{
	double rate = (double)window->packets / window->seconds;
	double needed = rate, share = 1, highest = 0;

	for (uint32_t w = 0; w < DEMAND_WINDOWS; w++)
		highest = fmax(highest, demand->rates[w]);
	if (demand->how == DEMAND_AHEAD) {
		/* The first packets after idle windows give no information about a rise. */
		if (highest > 0)
			needed += RISES * fmax(rate - highest, 0);
		needed += (double)window->backlog / window->seconds;
		share -= demand->reserve;
	}
	memmove(demand->rates + 1, demand->rates, sizeof(demand->rates) - sizeof(rate));
	demand->rates[0] = rate;
	return share * 1e9 / needed;
}
