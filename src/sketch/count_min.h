/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "sketch/candidates.h"
#include "sketch/counter_rows.h"
#include "sketch/sketch.h"

struct count_min {
	struct sketch sketch;
	struct counter_rows counters;
	uint32_t nb_lists;
	struct candidates lists[]; /* one per writing thread */
};

extern const struct sketch_ops count_min_ops;
