/* SPDX-License-Identifier: BSD-3-Clause */
#include "adapt/demand.h"

#include <math.h>
#include <string.h>

/* A mean rate of a window is 1.5 windows old at the end of the next window. */
#define RISES 1.5

double demand_target_ns(struct demand *demand, const struct demand_window *window)
{
	double rate = (double)window->packets / window->seconds;
	double needed = rate, share = 1, highest = 0;

	for (uint32_t w = 0; w < DEMAND_WINDOWS; w++)
		highest = fmax(highest, demand->rates[w]);
	if (demand->how == DEMAND_AHEAD) {
		/* After idle windows, the difference of two rates does not show a trend. */
		if (highest > 0)
			needed += RISES * fmax(rate - highest, 0);
		needed += (double)window->backlog / window->seconds;
		share -= demand->reserve;
	}
	memmove(demand->rates + 1, demand->rates, sizeof(demand->rates) - sizeof(rate));
	demand->rates[0] = rate;
	return share * 1e9 / needed;
}
