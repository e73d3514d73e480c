/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What is measured, changed while the run goes on: by the file, which is read again, or by words. */

#include <stdbool.h>

#include "config/config.h"

/*
 * The command line, and the file that it names, again. Returns CONFIG_OK, or with one line in
 * error[CONFIG_ERROR_MAX] what the status would be at the start: CONFIG_EXIT_2 also where
 * something else is not as in the running configuration, because only measurements can change.
 */
enum config_result config_read_again(
	struct config *config, const struct config *running, char *error);

/*
 * What is running with a change: "add NAME OPTION=VALUE ...", "change NAME OPTION=VALUE ..." or
 * "remove NAME". An empty VALUE takes back what was said of the measurement. As above.
 */
enum config_result config_change(
	struct config *config, const struct config *running, const char *words, char *error);

/* Whether both say the same of measurements; of one of each. */
bool config_measures_same(const struct config *a, const struct config *b);
bool config_measures_one_same(
	const struct config *a, uint32_t m_a, const struct config *b, uint32_t m_b);
