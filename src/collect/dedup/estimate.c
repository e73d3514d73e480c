/* SPDX-License-Identifier: BSD-3-Clause */

#include "collect/dedup/estimate.h"

#include <math.h>

#define BISECTIONS 100
#define ROUNDING   1e-9 /* relative rounding of bounds, above the arithmetic error */

/*
 * Returns minus the logarithm of Chernoff's bound of the tail of a Poisson variable with this mean.
 */
static double poisson_exponent(double steps, double mean)
{
	double d;

	if (steps <= 0)
		return mean;
	d = (mean - steps) / steps;
	return steps * (d - log1p(d));
}

/*
 * Returns the mean, between `steps` and `outside`, at which the exponent reaches the limit; the
 * exponent of `outside` exceeds it.
 */
static double bisect(double steps, double outside, double limit)
{
	double inside = steps;

	for (int i = 0; i < BISECTIONS; i++) {
		double middle = (inside + outside) / 2;

		if (poisson_exponent(steps, middle) > limit)
			outside = middle;
		else
			inside = middle;
	}
	return outside;
}

static uint64_t to_count(double value)
{
	return value >= 0x1p64 ? UINT64_MAX : (uint64_t)value;
}

struct estimate_bounds estimate_bound(
	uint64_t estimate, double interval, uint64_t unit, double log_inverse)
{
	double step = ceil(interval) * (double)(unit > 0 ? unit : 1);
	double steps = (double)estimate / step;
	double far = steps + log_inverse + sqrt(log_inverse * (log_inverse + 2 * steps)) + 1;
	struct estimate_bounds bounds = {estimate, estimate};
	double low, high;

	if (interval <= 1)
		return bounds;
	high = ceil(bisect(steps, far, log_inverse) * step * (1 + ROUNDING));
	low = steps > 0 ? floor(bisect(steps, 0, log_inverse) * step * (1 - ROUNDING)) : 0;
	if (to_count(high) > bounds.high)
		bounds.high = to_count(high);
	if (to_count(low) < bounds.low)
		bounds.low = to_count(low);
	return bounds;
}

uint64_t estimate_unsampled(double interval, double log_inverse)
{
	return interval <= 1 ? 0 : to_count(log_inverse / -log1p(-1 / interval) * (1 + ROUNDING));
}
