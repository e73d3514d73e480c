/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Generates the report of an epoch as a reporter passes it to sinks, with random flows from a seed.
 */

#include <stddef.h>
#include <stdint.h>

#include "report/rows/report.h"

#define RECORDS_START INT64_C(1800000000000000000)

struct records_spec {
	uint64_t number; /* number of the epoch; each lasts one second */
	uint32_t measurements;
	size_t flows; /* flow records of the first measurement */
	size_t rows;  /* number of heavy hitters of each measurement */
	uint64_t seed;
};

/* Returns NULL if out of memory. */
struct report_epoch *records_epoch(const struct records_spec *spec);
