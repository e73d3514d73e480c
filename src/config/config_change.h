/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>

#include "config/config.h"

/*
 * Loads the command line and the file of --config again. Fails with CONFIG_EXIT_2 and a line in
 * error[CONFIG_ERROR_MAX] if anything but the measurements differs from `running`.
 */
enum config_result config_read_again(
	struct config *config, const struct config *running, char *error);

/*
 * Changes a copy of `running`. words: "add NAME OPTION=VALUE ...", "change NAME OPTION=VALUE ..."
 * or "remove NAME". An empty VALUE removes the option. Fails with a line in
 * error[CONFIG_ERROR_MAX].
 */
enum config_result config_change(
	struct config *config, const struct config *running, const char *words, char *error);

bool config_measures_same(const struct config *a, const struct config *b);
bool config_measures_one_same(
	const struct config *a, uint32_t m_a, const struct config *b, uint32_t m_b);
