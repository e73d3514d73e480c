/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdint.h>

#include "report/merge.h"
#include "report/report.h"

struct rank_limits {
	uint32_t top;     /* rows at most; 0: no limit */
	double threshold; /* share of the epoch's measured packets or bytes; 0: none */
};

/*
 * Fills the rows, distinct keys and confidence of *measurement from the merger's epoch. Rows stand
 * by the measured metric, then the other one, both downwards, then by numeric key; exactly as if
 * all flows had been asked for and sorted. The rows come from malloc().
 * Returns 0 or -ENOMEM.
 */
int rank_flows(const struct merger *merger, const struct rank_limits *limits,
	struct report_measurement *measurement);
