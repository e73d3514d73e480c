/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Measures the work of a reporter at the end of an epoch. */

#include "tune/measure/workload.h"
#include "sketch/sketch.h"

struct reporting;

/* Each flow belongs to one worker. Returns NULL if out of memory. */
struct reporting *reporting_create(const struct workload *workload, uint32_t nb_workers,
	uint64_t width, uint32_t top, uint64_t seed);
void reporting_destroy(struct reporting *reporting);

uint32_t reporting_run(struct reporting *reporting);
