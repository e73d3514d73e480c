/* SPDX-License-Identifier: BSD-3-Clause */
#include "sketch/sampling_bound.h"

#include <math.h>
#include <stdbool.h>

#define PRECISION (1.0 / 64) /* precision of the bisection, in packets */
#define ROUNDING  1e-9       /* relative margin that exceeds the rounding error of the arithmetic */

static double times_log(double x, double y)
{
	return x > 0 ? x * log(y) : 0;
}

/*
 * Each of `truth` packets is sampled with probability 1 / weight. Returns minus the logarithm of
 * Chernoff's bound of the probability that their estimate is `sum` or farther from `truth`.
 */
static double exponent(double weight, double sum, double truth)
{
	double seen = sum / weight, unseen = truth - seen;

	return times_log(seen, sum / truth) +
	       times_log(unseen, unseen / (truth * (1 - 1 / weight)));
}

/*
 * Returns true if the probability that the true count is `truth` is below the key's share of the
 * risk. Values are in units of a packet.
 */
static bool is_excluded(const struct sampling_bound *sampling, double sum, double truth)
{
	double whole = sampling->whole / (double)sampling->unit;

	return exponent((double)sampling->weight, sum, truth) >
	       sampling->log_inverse + log(whole / truth);
}

/* Returns an excluded value close to the values that are not excluded. `inside` is not excluded. */
static double bisect(
	const struct sampling_bound *sampling, double sum, double inside, double outside)
{
	double middle = (inside + outside) / 2;

	while (fabs(outside - inside) > PRECISION && middle != inside && middle != outside) {
		if (is_excluded(sampling, sum, middle))
			outside = middle;
		else
			inside = middle;
		middle = (inside + outside) / 2;
	}
	return outside;
}

static uint64_t to_count(double value)
{
	return value >= 0x1p64 ? UINT64_MAX : (uint64_t)value;
}

uint64_t sampling_low(const struct sampling_bound *sampling, uint64_t sum)
{
	double unit = (double)sampling->unit, weight = (double)sampling->weight;
	double counted = (double)sum / unit;
	/* If a count of at most `near` is excluded, all lower counts are excluded. */
	double near = counted - (weight - 1), seen = counted / weight, low = seen;
	uint64_t bound;

	if (sampling->weight <= 1)
		return sum;
	if (near > seen && is_excluded(sampling, counted, near))
		low = near;
	else if (near > seen && is_excluded(sampling, counted, seen))
		low = bisect(sampling, counted, near, seen);
	bound = to_count(floor(low * unit * (1 - ROUNDING)));
	return bound < sum ? bound : sum;
}

uint64_t sampling_high(const struct sampling_bound *sampling, uint64_t sum)
{
	double unit = (double)sampling->unit, step = (double)sampling->weight;
	double counted = (double)sum / unit, whole = sampling->whole / unit, high = whole;
	uint64_t bound;

	if (sampling->weight <= 1)
		return sum;
	while (counted + step < whole && !is_excluded(sampling, counted, counted + step))
		step *= 2;
	if (counted + step < whole)
		high = counted + step;
	if (high > counted && is_excluded(sampling, counted, high))
		high = bisect(sampling, counted, counted, high);
	bound = to_count(ceil(high * unit * (1 + ROUNDING)));
	return bound > sum ? bound : sum;
}
