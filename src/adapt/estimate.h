/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Predicts the time per packet of a worker in the next window of 10 ms. */

#include <stdbool.h>
#include <stdint.h>

#include "adapt/formula.h"
#include "config/config.h"

enum estimator {
	/* Costs of timed bursts, times the median of measured / modelled of the last windows. */
	ESTIMATE_COSTS,
	ESTIMATE_FORMULA,   /* formula (3) of Tangari et al. (adapt/formula.h) */
	ESTIMATE_CORRECTED, /* the formula, times the same median for it */
	ESTIMATE_AVERAGE,   /* costs, times a moving average instead of the median */
	ESTIMATORS,
};

#define ESTIMATE_WINDOWS 3 /* odd */

struct estimate {
	/* Measured ns divided by modelled ns of the last windows, latest first. */
	double costs[ESTIMATE_WINDOWS], formula[ESTIMATE_WINDOWS];
	double average; /* moving average of costs[] */
	struct formula_window windows[CONFIG_MEASUREMENTS_MAX];
	/* For the next window; NAN: unknown. */
	double ns[ESTIMATORS];
};

struct estimate_errors {
	double sum[ESTIMATORS]; /* sums of |prediction / measured time - 1| */
	uint64_t windows[ESTIMATORS];
};

void estimate_init(struct estimate *estimate);

/* cost_ns: measured in the window that estimate->ns predicted. */
void estimate_compare(
	const struct estimate *estimate, double cost_ns, struct estimate_errors *errors);

/* costs_ns, formula_ns: modelled for the window that ended. formula_ns: NAN if unknown. */
void estimate_learn(struct estimate *estimate, double cost_ns, double costs_ns, double formula_ns);

/* costs_ns, formula_ns: modelled for the next window. */
void estimate_predict(struct estimate *estimate, double costs_ns, double formula_ns);

/* Returns the factor by which the packet time that decides exceeds costs_ns. */
double estimate_scale(const struct estimate *estimate);
