/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* A question put to the traffic: what is counted, by which sketch, and how much of it is reported. */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "key/key.h"
#include "sketch/sketch.h"

struct measurement_options {
	struct key_rule key;
	enum sketch_metric count;
	uint32_t sketch;  /* of sketches[] */
	uint32_t depth;   /* 0: the sketch's default */
	uint64_t width;   /* 0: the sketch's default, or what memory allows */
	uint64_t memory;  /* bytes of one instance; 0: not given. Excludes width. */
	uint32_t top;     /* 0: no limit, threshold rules */
	double threshold; /* share of the measured metric a reported key has at least; 0: none */
	double confidence;
};

OPTION_OWNER_OF_MEASUREMENT(measurement)

const struct sketch_ops *measurement_sketch(const struct measurement_config *measurement);

/* What the sketch is asked for: check() has still to complete it, and who shares it is left open. */
struct sketch_params measurement_params(const struct measurement_config *measurement);

/* Whether the sketch of any measurement has one of these capabilities. */
bool measurements_any(const struct config *config, uint32_t caps);

/* Whether flows of any measurement have states. */
bool measurements_deep(const struct config *config);

/* Names, aliases of sketches[], and when to choose one; NULL behind the last. */
const char *sketch_word(uint32_t i);
const char *sketch_alias(uint32_t i);
