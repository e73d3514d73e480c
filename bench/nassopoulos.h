/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Compares the figures that Nassopoulos et al. (2014) print with those of sketchtap-bench
 * flow-table, in the units of the paper.
 */

#include "bench/flow_variants.h"
#include "tune/measure/bench_pass.h"
#include "tune/measure/figures.h"

/* A measured table. */
struct nassopoulos_point {
	char traffic[FIGURES_CELL_MAX]; /* name of the traffic, or of the capture */
	bool capture;                   /* the traffic is a capture */
	struct flow_variant variant;
	uint64_t buckets;
	double load;           /* keys per bucket */
	double p_single, mean; /* P(L=1), E[L]; 0: not measured */
	struct bench_stats ns; /* valid if `missing` is false */
	bool missing;          /* the table does not fit in memory */
};

#define NASSOPOULOS_POINTS_MAX 1024

struct nassopoulos {
	uint32_t n;
	struct nassopoulos_point points[NASSOPOULOS_POINTS_MAX]; /* further ones are ignored */
};

void nassopoulos_add(struct nassopoulos *paper, const struct nassopoulos_point *point);

/* Writes a row for each printed figure of which a part was measured, to the CSV only. */
void nassopoulos_print(const struct nassopoulos *paper, struct figures *figures);
