/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "key/key.h"
#include "sketch/sketch.h"

struct measurement_options {
	struct key_rule key;
	enum sketch_metric count;
	uint32_t sketch;  /* index in sketches[] */
	uint32_t depth;   /* 0: the sketch's default */
	uint64_t width;   /* 0: the sketch's default, or the largest that fits `memory` */
	uint64_t memory;  /* bytes of one instance; 0: not set */
	uint32_t top;     /* maximum number of reported keys; 0: all that reach the threshold */
	double threshold; /* minimum share of a reported key in the metric, 0 to 1; 0: none */
	double confidence;
};

OPTION_OWNER_OF_MEASUREMENT(measurement)

const struct sketch_ops *measurement_sketch(const struct measurement_config *measurement);

/* The caller must then set the sharing and call sketch_ops.check(). */
struct sketch_params measurement_params(const struct measurement_config *measurement);

/* Returns true if the sketch of any measurement has one of these capabilities. */
bool measurements_any(const struct config *config, uint32_t caps);

bool measurements_deep(const struct config *config);

/* Both take an index in sketches[]. sketch_word() returns NULL after the last. */
const char *sketch_word(uint32_t i);
const char *sketch_alias(uint32_t i);
