/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What a run may give up so as to lose no packet: how that is decided, and what measurements have to
 * give. */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

enum shed_policy {
	KEEP_UP_OFF,
	KEEP_UP_VALVE, /* a worker's queues decide */
	/* And so does the reporter, every 10 ms (adapt/choose.h). */
	KEEP_UP_GREEDY,
	KEEP_UP_LSF,
	KEEP_UP_QUERIES,
	KEEP_UP_BEST,
};

struct shed_policy_options {
	enum shed_policy keep_up;
	double reserve;          /* share of a worker's time that is to be left free */
	const char *states_from; /* NULL: nothing is decided beforehand */
};

OPTION_OWNER(shed_policy)

/* The words of --overload; NULL behind the last. */
const char *shed_policy_word(uint32_t i);

/* Whether the reporter decides, too. */
static inline bool shed_policy_governed(const struct config *config)
{
	return shed_policy_options(config)->keep_up > KEEP_UP_VALVE;
}

/* Whether a run may give anything up. */
static inline bool shed_policy_given(const struct config *config)
{
	return shed_policy_options(config)->keep_up != KEEP_UP_OFF ||
	       shed_policy_options(config)->states_from != NULL;
}

/* As option_row.lacks: without --overload, under which a run that goes by valves alone may be told to
 * decide; and without that and shed_policy_given(). */
const char *shed_policy_option_lacks(
	const struct config *config, const struct measurement_config *measurement);
const char *shed_policy_given_lacks(
	const struct config *config, const struct measurement_config *measurement);

/* Of a measurement. */
struct steps_options {
	uint32_t priority; /* 1 is the best */
	const char *steps; /* that steps_parse() takes; NULL: none */
	uint64_t deadline; /* ns: it has a whole interval at full detail so often; 0: it need not */
};

OPTION_OWNER_OF_MEASUREMENT(steps)

/* Whether one of its steps is to other keys. */
bool steps_to_keys(const struct measurement_config *measurement);
