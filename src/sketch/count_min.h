/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Inside of the Count-Min sketch, for its own file and its tests. Everybody else uses sketch.h. */

#include <stdint.h>

#include "sketch/candidates.h"
#include "sketch/sketch.h"

struct count_min {
	struct sketch sketch;
	uint32_t bits;   /* log2 of the width */
	uint32_t stride; /* of row_index() */
	union {          /* row after row, params.width each */
		uint32_t *packets;
		uint64_t *bytes;
	} counters;
	struct candidates candidates;
};

extern const struct sketch_ops count_min_ops;
