/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Sums the flows of a closed epoch for each query. */

#include <stdbool.h>
#include <stdint.h>

#include "parallel/run/run.h"
#include "report/merge/merge.h"
#include "report/rows/report.h"

/*
 * `merger` has the flows of measurement m. Sets out->queries, which stay NULL if no query applies.
 * Returns false if out of memory.
 */
bool query_report(const struct run *run, uint64_t epoch, uint32_t m, const struct merger *merger,
	struct report_measurement *out);
