/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

enum shed_policy {
	SHED_POLICY_OFF,
	SHED_POLICY_SAMPLE, /* queue shedding in each worker (parallel/shed/queue_shedding.h) */
	/* Adds a controller in the reporter (adapt/choose.h). */
	SHED_POLICY_GREEDY,
	SHED_POLICY_LSF,
	SHED_POLICY_QUERIES,
	SHED_POLICY_ADAPT,
};

struct shed_policy_options {
	enum shed_policy policy;
	double reserve;       /* share of the time of workers to keep idle, 0 to 1 */
	const char *schedule; /* file name; NULL: none */
};

OPTION_OWNER(shed_policy)

const char *shed_policy_word(uint32_t i);

static inline bool shed_policy_needs_controller(const struct config *config)
{
	return shed_policy_options(config)->policy > SHED_POLICY_SAMPLE;
}

static inline bool shed_policy_given(const struct config *config)
{
	return shed_policy_options(config)->policy != SHED_POLICY_OFF ||
	       shed_policy_options(config)->schedule != NULL;
}

/* Return NULL if an option has an effect. The second function also accepts a schedule. */
const char *shed_policy_option_inapplicable(
	const struct config *config, const struct measurement_config *measurement);
const char *shed_policy_given_inapplicable(
	const struct config *config, const struct measurement_config *measurement);

struct steps_options {
	uint32_t priority; /* 1 is the highest priority */
	const char *steps; /* text for steps_parse(); NULL: none */
	/* ns; there should be one interval with full detail in this time. 0: no such requirement */
	uint64_t deadline;
};

OPTION_OWNER_OF_MEASUREMENT(steps)

bool steps_to_keys(const struct measurement_config *measurement);
