/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Measures the work of a reporter at the end of an epoch: merge the sketches of workers, rank,
 * print.
 */

#include "tune/measure/workload.h"
#include "sketch/sketch.h"

struct reporting;

/*
 * Creates nb_workers separate Count-Min sketches of 4 rows and fills them with the workload; each
 * flow belongs to one worker. `top` is the number of keys to report. Returns NULL if out of memory.
 */
struct reporting *reporting_create(const struct workload *workload, uint32_t nb_workers,
	uint64_t width, uint32_t top, uint64_t seed);
void reporting_destroy(struct reporting *reporting);

/* Reports once, into memory. Returns the number of reported keys. */
uint32_t reporting_run(struct reporting *reporting);
