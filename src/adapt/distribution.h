/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * How the times of something are distributed: quantiles, and which of three distributions fits
 * best. Each has two parameters, found by maximum likelihood, so the one with the least BIC
 * (Bayesian information criterion: p ln n - 2 ln L) is the likeliest.
 */

#include <stdbool.h>
#include <stdint.h>

enum distribution_kind {
	DISTRIBUTION_NORMAL,  /* mean, standard deviation */
	DISTRIBUTION_WEIBULL, /* scale, shape */
	DISTRIBUTION_GUMBEL,  /* of maxima: location, scale */
	DISTRIBUTION_KINDS,
};

extern const char *const distribution_names[DISTRIBUTION_KINDS];

struct distribution {
	uint64_t samples;
	double mean, deviation;
	double p5, p50, p95, p99;
	enum distribution_kind best;
	double a[DISTRIBUTION_KINDS], b[DISTRIBUTION_KINDS]; /* parameters, as they stand above */
	double bic[DISTRIBUTION_KINDS];                      /* INFINITY where it cannot be */
};

/* Of samples[n], which are sorted; n is 1 or more. One that is not above 0 is no Weibull's. */
struct distribution distribution_of(double *samples, uint64_t n);

/* Share of the times that are t at most, by the best one. */
double distribution_below(const struct distribution *fit, double t);
