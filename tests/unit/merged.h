/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* A sketch that holds only the counters of another, as the reporter creates it. */

#include "sketch/sketch.h"

static inline struct sketch *merged_of(const struct sketch *sketch)
{
	struct sketch *merged = sketch->ops->create(&sketch->params);

	assert_non_null(merged);
	assert_int_equal(sketch->ops->merge(merged, sketch), 0);
	return merged;
}
