/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Distribution of measured times: quantiles, and the best fit of three distributions. Each has two
 * parameters, estimated by maximum likelihood, so the one with the least BIC (Bayesian information
 * criterion: p ln n - 2 ln L) is the likeliest.
 */

#include <stdbool.h>
#include <stdint.h>

enum distribution_kind {
	DISTRIBUTION_NORMAL,  /* mean, standard deviation */
	DISTRIBUTION_WEIBULL, /* scale, shape */
	DISTRIBUTION_GUMBEL,  /* distribution of maxima: location, scale */
	DISTRIBUTION_KINDS,
};

extern const char *const distribution_names[DISTRIBUTION_KINDS];

struct distribution {
	uint64_t samples;
	double mean, deviation;
	double p5, p50, p95, p99;
	enum distribution_kind best;
	double a[DISTRIBUTION_KINDS],
		b[DISTRIBUTION_KINDS];  /* parameters in the order of enum distribution_kind */
	double bic[DISTRIBUTION_KINDS]; /* INFINITY: not possible */
};

/* Fits samples[n], n >= 1, and sorts them. Samples <= 0 exclude the Weibull distribution. */
struct distribution distribution_of(double *samples, uint64_t n);

/* Returns the share of times <= t by the best fit, 0 to 1. */
double distribution_below(const struct distribution *fit, double t);
