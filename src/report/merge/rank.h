/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdint.h>

#include "report/merge/merge.h"
#include "report/rows/report.h"

struct rank_limits {
	uint32_t top; /* maximum number of rows; 0: no limit */
	/* least share of the measured packets or bytes of the epoch; 0: no limit */
	double threshold;
};

/* Returns the smallest count that has the share `threshold` of the epoch's total. At least 1. */
uint64_t rank_smallest(enum sketch_metric metric, const struct ledger *ledger, double threshold);

/*
 * Fills the rows, the number of distinct keys and the confidence of *measurement from the merged
 * epoch. Rows are sorted by the measured metric, then by the other metric (both descending), then
 * by the numeric key. Not all flows are queried, but the result is the same as if they were. The
 * rows come from malloc(). Returns 0 or -ENOMEM.
 */
int rank_flows(const struct merger *merger, const struct rank_limits *limits,
	struct report_measurement *measurement);
