/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Generates the report of an epoch, with random flows. */

#include <stddef.h>
#include <stdint.h>

#include "report/rows/report.h"

#define RECORDS_START INT64_C(1800000000000000000)

struct records_spec {
	uint64_t number;
	uint32_t measurements;
	size_t flows;
	size_t rows;
	uint64_t seed;
};

struct report_epoch *records_epoch(const struct records_spec *spec);
