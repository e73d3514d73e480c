/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Compares the estimators of adapt/estimate.h with the measured time of a flow table. */

#include <stdbool.h>
#include <stdint.h>

#include "adapt/estimate.h"

#define PREDICTION_LOADS 5

struct prediction {
	const char *load;
	/*
	 * Median of |predicted / measured - 1| over the windows. The last element: if the time of
	 * the last window is the prediction.
	 */
	double errors[ESTIMATORS + 1];
	double lowest_ns, highest_ns; /* time per packet of a window */
	double p, lambda;             /* means over the windows */
};

/* Returns false if out of memory. */
bool prediction_measure(struct prediction predictions[PREDICTION_LOADS], uint64_t seed);
