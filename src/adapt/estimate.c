/* SPDX-License-Identifier: BSD-3-Clause */
#include "adapt/estimate.h"

#include <math.h>
#include <string.h>

#define NEWS      0.25 /* weight of the newest window in a moving average */
#define SCALE_MAX 10

void estimate_init(struct estimate *estimate)
{
	*estimate = (struct estimate){.average = 1};
	for (uint32_t w = 0; w < ESTIMATE_WINDOWS; w++)
		estimate->costs[w] = estimate->formula[w] = 1;
	for (uint32_t e = 0; e < ESTIMATORS; e++)
		estimate->ns[e] = NAN;
	for (uint32_t m = 0; m < CONFIG_MEASUREMENTS_MAX; m++)
		estimate->windows[m].p = 1;
}

void estimate_compare(
	const struct estimate *estimate, double cost_ns, struct estimate_errors *errors)
{
	for (uint32_t e = 0; e < ESTIMATORS; e++) {
		if (isnan(estimate->ns[e]))
			continue;
		errors->sum[e] += fabs(estimate->ns[e] / cost_ns - 1);
		errors->windows[e]++;
	}
}

static double limit(double scale)
{
	return fmin(fmax(scale, 1.0 / SCALE_MAX), SCALE_MAX);
}

static void add(double *scales, double scale)
{
	memmove(scales + 1, scales, (ESTIMATE_WINDOWS - 1) * sizeof(scales[0]));
	scales[0] = limit(scale);
}

/* One window in which another program had the CPU changes nothing. */
static double median_of(const double *scales)
{
	return fmax(fmin(scales[0], scales[1]), fmin(fmax(scales[0], scales[1]), scales[2]));
}

_Static_assert(ESTIMATE_WINDOWS == 3, "median_of() takes three values");

void estimate_learn(struct estimate *estimate, double cost_ns, double costs_ns, double formula_ns)
{
	add(estimate->costs, cost_ns / costs_ns);
	estimate->average =
		limit(estimate->average + NEWS * (cost_ns / costs_ns - estimate->average));
	if (!isnan(formula_ns))
		add(estimate->formula, cost_ns / formula_ns);
}

void estimate_predict(struct estimate *estimate, double costs_ns, double formula_ns)
{
	estimate->ns[ESTIMATE_COSTS] = median_of(estimate->costs) * costs_ns;
	estimate->ns[ESTIMATE_FORMULA] = formula_ns;
	estimate->ns[ESTIMATE_CORRECTED] = median_of(estimate->formula) * formula_ns;
	estimate->ns[ESTIMATE_AVERAGE] = estimate->average * costs_ns;
}

double estimate_scale(const struct estimate *estimate)
{
	return median_of(estimate->costs);
}
