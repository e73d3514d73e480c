/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What a reporter does at the end of an epoch: merge the workers' sketches, rank, print. */

#include "tune/measure/workload.h"
#include "sketch/sketch.h"

struct reporting;

/*
 * nb_workers separate Count-Min sketches of 4 rows, filled with the workload as if its flows had
 * been spread over them. `top` keys are reported. NULL where memory is missing.
 */
struct reporting *reporting_create(const struct workload *workload, uint32_t nb_workers,
	uint64_t width, uint32_t top, uint64_t seed);
void reporting_destroy(struct reporting *reporting);

/* Reports once, into memory. Returns the number of reported keys. */
uint32_t reporting_run(struct reporting *reporting);
