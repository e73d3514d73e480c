/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What several options say together: contradictions, and what is missing. */

#include <stdbool.h>

#include "config/config.h"
#include "config/options.h"

#define CONFIG_WHY_MAX 300

struct config_fault {
	const char *option;                           /* at fault; NULL: none that was given */
	const struct measurement_config *measurement; /* whose option it is; NULL: the run's */
	char why[CONFIG_WHY_MAX];
};

/*
 * Why a given option has no effect in a run with this configuration ("without --design async");
 * NULL: it has one. `measurement` is whose option it is; NULL: the run's.
 */
const char *config_lacks(const struct option_row *row, const struct config *config,
	const struct measurement_config *measurement);

/* Returns true, or false with *fault filled. The single values must have passed option_set(). */
bool config_check(const struct config *config, struct config_fault *fault);

/* Whether all of these rows, if any are wanted, go to standard output. */
bool config_to_stdout(const struct config *config, enum row_kind kind);
/* Whether heavy hitters are shown as a table. terminal: standard output is one. */
bool config_shows_table(const struct config *config, bool terminal);
/* Whether any output goes elsewhere than to standard output. */
bool config_names_files(const struct config *config);
