/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* A measurement: its key, sketch and report limits. */

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
	uint64_t width;   /* 0: the sketch's default, or what memory allows */
	uint64_t memory;  /* bytes of one instance; 0: not set. Excludes width. */
	uint32_t top;     /* 0: no limit, threshold rules */
	double threshold; /* least share of the metric of a reported key, 0 to 1; 0: none */
	double confidence;
};

OPTION_OWNER_OF_MEASUREMENT(measurement)

const struct sketch_ops *measurement_sketch(const struct measurement_config *measurement);

/*
 * Returns the requested parameters. Before use, the caller must complete them with check() and set
 * the sharing.
 */
struct sketch_params measurement_params(const struct measurement_config *measurement);

/* Returns true if the sketch of any measurement has one of these capabilities. */
bool measurements_any(const struct config *config, uint32_t caps);

/* Returns true if the flows of any measurement have states. */
bool measurements_deep(const struct config *config);

/* Name and alias of sketches[i]. sketch_word() returns NULL after the last. */
const char *sketch_word(uint32_t i);
const char *sketch_alias(uint32_t i);
