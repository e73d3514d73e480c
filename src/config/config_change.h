/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Changes of measurements during a run: by reloading the file, or by a command. */

#include <stdbool.h>

#include "config/config.h"

/*
 * Loads the command line and its file again. Returns CONFIG_OK, or the exit status at a start, with
 * one line in error[CONFIG_ERROR_MAX]. Also returns CONFIG_EXIT_2 if anything but measurements
 * differs from the running configuration.
 */
enum config_result config_read_again(
	struct config *config, const struct config *running, char *error);

/*
 * Applies a command to the running configuration: "add NAME OPTION=VALUE ...", "change NAME
 * OPTION=VALUE ..." or "remove NAME". An empty VALUE undoes earlier changes of the option. Returns
 * as config_read_again().
 */
enum config_result config_change(
	struct config *config, const struct config *running, const char *words, char *error);

/* Return true if both have the same measurements; the second compares one of each. */
bool config_measures_same(const struct config *a, const struct config *b);
bool config_measures_one_same(
	const struct config *a, uint32_t m_a, const struct config *b, uint32_t m_b);
