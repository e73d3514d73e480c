/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdint.h>

#include "report/merge/merge.h"
#include "report/rows/report.h"

struct rank_limits {
	uint32_t top; /* maximum number of rows; 0: no limit */
	/* Least share of the epoch's measured packets or bytes. 0: no limit */
	double threshold;
};

/* Returns the smallest count, at least 1, that has the share `threshold` of the epoch's total. */
uint64_t rank_smallest(enum sketch_metric metric, const struct ledger *ledger, double threshold);

/*
 * Rows are sorted by the measured metric, then by the other metric (both descending), then by the
 * key. They come from malloc(). Returns 0 or -ENOMEM.
 */
int rank_flows(const struct merger *merger, const struct rank_limits *limits,
	struct report_measurement *measurement);
