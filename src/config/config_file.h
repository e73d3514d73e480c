/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The configuration file as it is written: which option stands in which section on which line. What
 * the values mean is config.c's business.
 *
 * INI: NAME = VALUE lines with the names of the command line. Before any section, or in
 * [sketchtap], they hold for the whole run; each [measurement NAME] section is one measurement.
 * Comments start with # or ; at the start of a line, or with ; after a space.
 */

#include <stdint.h>

#include "config/config.h"
#include "config/options.h"

#define CONFIG_FILE_ERROR_MAX 700

struct config_setting {
	const struct option_row *row;
	char *value;
	uint32_t section; /* of config_file.sections */
	uint32_t line;
};

struct config_section {
	char *name; /* NULL in section 0, which holds for the whole run */
	uint32_t line;
};

struct config_file {
	const char *path;
	struct config_section sections[1 + CONFIG_MEASUREMENTS_MAX];
	uint32_t nb_sections; /* at least 1 */
	struct config_setting *settings;
	uint32_t nb_settings;
};

/*
 * Reads the file at path, which must outlive the result. Returns CONFIG_OK with *file set, or
 * CONFIG_EXIT_1 or CONFIG_EXIT_2 with one line in error[CONFIG_FILE_ERROR_MAX] ("FILE:LINE: ...",
 * without a line where it cannot be read at all).
 */
enum config_result config_file_read(
	struct config_file **file, const char *path, enum command command, char *error);
void config_file_free(struct config_file *file); /* NULL is allowed */
