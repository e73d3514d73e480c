/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Fits distributions to measured times by maximum likelihood. The best fit has the least Bayesian
 * information criterion BIC = p ln n - 2 ln L, with p = 2 parameters, n samples and likelihood L.
 */

#include <stdbool.h>
#include <stdint.h>

enum distribution_kind {
	DISTRIBUTION_NORMAL,  /* a: mean, b: standard deviation */
	DISTRIBUTION_WEIBULL, /* a: scale, b: shape */
	DISTRIBUTION_GUMBEL,  /* a: location, b: scale */
	DISTRIBUTION_KINDS,
};

extern const char *const distribution_names[DISTRIBUTION_KINDS];

struct distribution {
	uint64_t samples;
	double mean, deviation;
	double p5, p50, p95, p99;
	enum distribution_kind best;
	double a[DISTRIBUTION_KINDS], b[DISTRIBUTION_KINDS];
	double bic[DISTRIBUTION_KINDS]; /* INFINITY: no fit possible */
};

/* Sorts samples[n], with n >= 1. Samples <= 0 exclude the Weibull distribution. */
struct distribution distribution_of(double *samples, uint64_t n);

/* Returns the probability of a time <= t in the best fit. */
double distribution_below(const struct distribution *fit, double t);
