/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Options of load shedding: policy of the run, and steps of measurements. */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

enum shed_policy {
	SHED_POLICY_OFF,
	SHED_POLICY_SAMPLE, /* decided by the queues of each worker */
	/* Also decided by the reporter, every 10 ms (adapt/choose.h). */
	SHED_POLICY_GREEDY,
	SHED_POLICY_LSF,
	SHED_POLICY_QUERIES,
	SHED_POLICY_ADAPT,
};

struct shed_policy_options {
	enum shed_policy policy;
	double reserve;       /* idle share of a worker's time, 0 to 1 */
	const char *schedule; /* path of the schedule; NULL: none */
};

OPTION_OWNER(shed_policy)

/* Returns the words of --overload; NULL after the last. */
const char *shed_policy_word(uint32_t i);

/* Returns true if the reporter also decides. */
static inline bool shed_policy_needs_controller(const struct config *config)
{
	return shed_policy_options(config)->policy > SHED_POLICY_SAMPLE;
}

/* Returns true if the run may shed load. */
static inline bool shed_policy_given(const struct config *config)
{
	return shed_policy_options(config)->policy != SHED_POLICY_OFF ||
	       shed_policy_options(config)->schedule != NULL;
}

/*
 * Serve as option_row.inapplicable: the first requires that the run can switch to --overload, the
 * second requires shed_policy_given().
 */
const char *shed_policy_option_inapplicable(
	const struct config *config, const struct measurement_config *measurement);
const char *shed_policy_given_inapplicable(
	const struct config *config, const struct measurement_config *measurement);

/* Options of a measurement. */
struct steps_options {
	uint32_t priority; /* 1 is highest */
	const char *steps; /* text for steps_parse(); NULL: none */
	/* ns; one whole interval at full detail per this time; 0: not required */
	uint64_t deadline;
};

OPTION_OWNER_OF_MEASUREMENT(steps)

/* Returns true if a step changes to other keys. */
bool steps_to_keys(const struct measurement_config *measurement);
