/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdint.h>

#include "report/merge/merge.h"
#include "report/rows/report.h"

struct rank_limits {
	uint32_t top;     /* maximum number of rows; 0: no limit */
	double threshold; /* minimum share of the epoch's measured packets or bytes; 0: none */
};

/* Returns the smallest value of the metric that reaches `threshold`; at least 1. */
uint64_t rank_smallest(enum sketch_metric metric, const struct ledger *ledger, double threshold);

/*
 * Fills the rows, distinct keys and confidence of *measurement from the merged epoch. Rows are
 * sorted by the measured metric, then by the other one, both descending, then by numeric key. The
 * result equals that of querying and sorting all flows. The rows come from malloc(). Returns 0 or
 * -ENOMEM.
 */
int rank_flows(const struct merger *merger, const struct rank_limits *limits,
	struct report_measurement *measurement);
