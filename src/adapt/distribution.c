/* SPDX-License-Identifier: BSD-3-Clause */
#include "adapt/distribution.h"

#include <math.h>
#include <stdlib.h>

#include "base/assertion.h"

#define STEPS     60
#define EXACT     1e-10
#define NARROWEST 1e-6 /* least ratio of deviation to mean, for equal samples */

const char *const distribution_names[DISTRIBUTION_KINDS] = {
	[DISTRIBUTION_NORMAL] = "normal",
	[DISTRIBUTION_WEIBULL] = "Weibull",
	[DISTRIBUTION_GUMBEL] = "Gumbel",
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(const double *sorted, uint64_t n, double share)
{
	double at = share * (double)(n - 1);
	uint64_t below = (uint64_t)at;

	if (below + 1 >= n)
		return sorted[n - 1];
	return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

static double bic(uint64_t n, double likelihood)
{
	return 2 * log((double)n) - 2 * likelihood;
}

static void fit_normal(struct distribution *fit, const double *x, uint64_t n)
{
	double sum = 0, squares = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += x[i];
	fit->mean = sum / (double)n;
	for (uint64_t i = 0; i < n; i++)
		squares += (x[i] - fit->mean) * (x[i] - fit->mean);
	fit->deviation = sqrt(squares / (double)n);
	if (fit->deviation < NARROWEST * fabs(fit->mean))
		fit->deviation = NARROWEST * fabs(fit->mean);
	if (fit->deviation <= 0)
		fit->deviation = NARROWEST;
	fit->a[DISTRIBUTION_NORMAL] = fit->mean;
	fit->b[DISTRIBUTION_NORMAL] = fit->deviation;
	fit->bic[DISTRIBUTION_NORMAL] =
		bic(n, -(double)n * (log(fit->deviation) + log(2 * M_PI) / 2) -
				squares / (2 * fit->deviation * fit->deviation));
}

/* Sums over samples x, with weight w = e^(rate (x - origin)). */
struct sums {
	double weight;
	double weighted;
	double weighted2;
};

static struct sums weigh(const double *x, uint64_t n, double origin, double rate)
{
	struct sums sums = {0};

	for (uint64_t i = 0; i < n; i++) {
		double above = x[i] - origin, weight = exp(rate * above);

		sums.weight += weight;
		sums.weighted += weight * above;
		sums.weighted2 += weight * above * above;
	}
	return sums;
}

/*
 * Returns the shape k of the Weibull distribution with the maximum likelihood: the root of sum(x^k
 * ln x) / sum(x^k) - 1 / k - mean(ln x), by Newton's method. logs[] has ln(x / largest sample), so
 * that no power overflows.
 */
static double weibull_shape(const double *logs, uint64_t n, double mean_log, double start)
{
	double k = start;

	for (uint32_t step = 0; step < STEPS; step++) {
		struct sums sums = weigh(logs, n, 0, k);
		double ratio = sums.weighted / sums.weight;
		double value = ratio - 1 / k - mean_log;
		double slope = sums.weighted2 / sums.weight - ratio * ratio + 1 / (k * k);
		double next = k - value / slope;

		if (next <= 0)
			next = k / 2;
		if (fabs(next - k) < EXACT * k)
			return next;
		k = next;
	}
	return k;
}

static void fit_weibull(struct distribution *fit, double *x, uint64_t n)
{
	double largest = x[n - 1], mean_log = 0, k, scale, spread;

	fit->bic[DISTRIBUTION_WEIBULL] = INFINITY;
	if (x[0] <= 0)
		return;
	for (uint64_t i = 0; i < n; i++) {
		x[i] = log(x[i] / largest);
		mean_log += x[i] / (double)n;
	}
	/* First k: the logarithms have the standard deviation pi / (k sqrt(6)), about `spread`. */
	spread = fit->deviation / fit->mean;
	k = weibull_shape(x, n, mean_log, M_PI / sqrt(6) / spread);
	scale = pow(weigh(x, n, 0, k).weight / (double)n, 1 / k);
	fit->a[DISTRIBUTION_WEIBULL] = scale * largest;
	fit->b[DISTRIBUTION_WEIBULL] = k;
	/* The last term is n, because the sum of (x / scale)^k is n at the maximum likelihood. */
	fit->bic[DISTRIBUTION_WEIBULL] =
		bic(n, (double)n * (log(k) - k * log(scale) + (k - 1) * mean_log - log(largest)) -
				(double)n);
	for (uint64_t i = 0; i < n; i++)
		x[i] = largest * exp(x[i]);
}

/*
 * Returns the scale b of the Gumbel distribution with the maximum likelihood: the root of b -
 * mean(x) + sum(x e^(-x/b)) / sum(e^(-x/b)), by Newton's method. The sums use x - x[0], so that no
 * power overflows.
 */
static double gumbel_scale(const double *x, uint64_t n, double mean_above, double start)
{
	double b = start;

	for (uint32_t step = 0; step < STEPS; step++) {
		struct sums sums = weigh(x, n, x[0], -1 / b);
		double ratio = sums.weighted / sums.weight;
		double value = b - mean_above + ratio;
		double slope = 1 + (sums.weighted2 / sums.weight - ratio * ratio) / (b * b);
		double next = b - value / slope;

		if (next <= 0)
			next = b / 2;
		if (fabs(next - b) < EXACT * b)
			return next;
		b = next;
	}
	return b;
}

static void fit_gumbel(struct distribution *fit, const double *x, uint64_t n)
{
	double mean_above = fit->mean - x[0];
	double b = gumbel_scale(x, n, mean_above, fit->deviation * sqrt(6) / M_PI);
	double location = -b * log(weigh(x, n, x[0], -1 / b).weight / (double)n);

	fit->a[DISTRIBUTION_GUMBEL] = x[0] + location;
	fit->b[DISTRIBUTION_GUMBEL] = b;
	/* The last term is n: the sum of e^(-(x - location) / b) is n at the maximum likelihood. */
	fit->bic[DISTRIBUTION_GUMBEL] =
		bic(n, -(double)n * log(b) - (double)n * (mean_above - location) / b - (double)n);
}

struct distribution distribution_of(double *samples, uint64_t n)
{
	struct distribution fit = {.samples = n};

	VERIFY(n, >, 0u);
	qsort(samples, n, sizeof(samples[0]), compare);
	fit.p5 = quantile(samples, n, 0.05);
	fit.p50 = quantile(samples, n, 0.5);
	fit.p95 = quantile(samples, n, 0.95);
	fit.p99 = quantile(samples, n, 0.99);
	fit_normal(&fit, samples, n);
	fit_gumbel(&fit, samples, n);
	fit_weibull(&fit, samples, n);
	for (uint32_t kind = 1; kind < DISTRIBUTION_KINDS; kind++)
		if (fit.bic[kind] < fit.bic[fit.best])
			fit.best = (enum distribution_kind)kind;
	return fit;
}

double distribution_below(const struct distribution *fit, double t)
{
	double a = fit->a[fit->best], b = fit->b[fit->best];

	switch (fit->best) {
	case DISTRIBUTION_WEIBULL: return t > 0 ? -expm1(-pow(t / a, b)) : 0;
	case DISTRIBUTION_GUMBEL: return exp(-exp((a - t) / b));
	default: return erfc((a - t) / (b * M_SQRT2)) / 2;
	}
}
