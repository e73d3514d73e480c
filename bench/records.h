/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Epochs as a reporter hands them over, of flows that are drawn by a seed. */

#include <stddef.h>
#include <stdint.h>

#include "report/rows/report.h"

#define RECORDS_START INT64_C(1800000000000000000)

struct records_spec {
	uint64_t number; /* of the epoch, of a second */
	uint32_t measurements;
	size_t flows; /* records of the first of them */
	size_t rows;  /* heavy hitters of each */
	uint64_t seed;
};

/* NULL where memory is missing. */
struct report_epoch *records_epoch(const struct records_spec *spec);
