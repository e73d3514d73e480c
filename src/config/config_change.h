/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Changes the options of measurements during a run: by a reload of the file, or by a command. */

#include <stdbool.h>

#include "config/config.h"

/*
 * Loads the command line and the file of --config again. Returns as config_load(), with one error
 * line in error[CONFIG_ERROR_MAX]. Also returns CONFIG_EXIT_2 if anything but the measurements
 * differs from the running configuration.
 */
enum config_result config_read_again(
	struct config *config, const struct config *running, char *error);

/*
 * Applies a command to a copy of the running configuration: "add NAME OPTION=VALUE ...", "change
 * NAME OPTION=VALUE ..." or "remove NAME". An empty VALUE removes the option from
 * the measurement. Returns as config_read_again().
 */
enum config_result config_change(
	struct config *config, const struct config *running, const char *words, char *error);

/* Return true if all measurements, or two measurements, have the same options. */
bool config_measures_same(const struct config *a, const struct config *b);
bool config_measures_one_same(
	const struct config *a, uint32_t m_a, const struct config *b, uint32_t m_b);
