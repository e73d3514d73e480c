/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdint.h>

#include "report/merge/merge.h"
#include "report/rows/report.h"

struct rank_limits {
	uint32_t top;     /* rows at most; 0: no limit */
	double threshold; /* share of the epoch's measured packets or bytes; 0: none */
};

/* The least figure of the metric that is `threshold` of the epoch; at least 1. */
uint64_t rank_smallest(enum sketch_metric metric, const struct ledger *ledger, double threshold);

/*
 * Fills the rows, distinct keys and confidence of *measurement from the merger's epoch. Rows stand
 * by the measured metric, then the other one, both downwards, then by numeric key; exactly as if
 * all flows had been asked for and sorted. The rows come from malloc().
 * Returns 0 or -ENOMEM.
 */
int rank_flows(const struct merger *merger, const struct rank_limits *limits,
	struct report_measurement *measurement);
