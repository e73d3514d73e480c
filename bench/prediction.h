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

/* Time (ns) per lookup to estimate P from FORMULA_SAMPLES lookups. Sec. VI-B of Tangari et al. */
struct estimate_cost {
	double cdf_ns;       /* rule of the paper, with both distribution functions of each time */
	double table_ns;     /* the same with a table of each function */
	double threshold_ns; /* one comparison, as in a worker */
	double lookup_ns;    /* lookup, its timing and one comparison, as in a worker */
};

/* Each value is the least of the rounds, which are in turns. Returns false if out of memory. */
bool prediction_cost(struct estimate_cost *cost, uint32_t rounds, uint64_t seed);
