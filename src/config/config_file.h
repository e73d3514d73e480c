/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Splits a configuration file into settings; config_load.c interprets their values.
 *
 * Lines before any section, or in [sketchtap], apply to the whole run. A section [measurement NAME]
 * is one measurement. A comment starts with # or ; at the start of a line, or with ; after a space.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

#define CONFIG_FILE_ERROR_MAX 700

struct config_setting {
	struct config_row row;
	char *value; /* PROPERTY=VALUE for a key NAME.PROPERTY */
	/* index in config_file.sections; from CONFIG_FIRST_NAMED on, in config_file.named */
	uint32_t section;
	uint32_t line; /* 0: set by a command during the run */
	const char *as;
};

#define CONFIG_FIRST_NAMED (1 + CONFIG_MEASUREMENTS_MAX)

struct config_section {
	char *name; /* NULL: the whole run */
	uint32_t line;
	/* owner of a section such as [export NAME]; NULL: other sections */
	const struct option_owner *owner;
};

struct config_file {
	const char *path;
	struct config_section sections[1 + CONFIG_MEASUREMENTS_MAX];
	uint32_t nb_sections;
	struct config_section *named; /* [max_named] */
	uint32_t nb_named, max_named;
	struct config_setting *settings;
	uint32_t nb_settings;
};

/*
 * Reads the file at `path`, which *file refers to from then on. again: requires a regular file,
 * because a pipe would be empty or block. Writes errors to error[CONFIG_FILE_ERROR_MAX].
 */
enum config_result config_file_read(struct config_file **file, const char *path, bool again,
	const struct config *config, char *error);
void config_file_free(struct config_file *file);

bool config_file_is_name(const char *name);
uint32_t config_file_find_section(const struct config_file *file, const char *name);
/* Returns an index in file->named; nb_named if there is no such section. */
uint32_t config_file_find_named(
	const struct config_file *file, const struct option_owner *owner, const char *name);
/* key: NAME or NAME.PROPERTY. */
bool config_setting_is(const struct config_setting *setting, const char *key);

/*
 * Functions that edit a copy for config_load_again(). `file` may be NULL. On lack of memory, they
 * return NULL or false.
 */
struct config_file *config_file_copy(const struct config_file *file);
bool config_file_add_section(struct config_file *file, const char *name);
bool config_file_add_setting(struct config_file *file, uint32_t section,
	const struct config_row *row, const char *value, struct option_origin at);
bool config_file_set_named(struct config_file *file, uint32_t n, const struct config_row *row,
	const char *key, const char *value);
void config_file_remove_section(struct config_file *file, uint32_t section);
void config_file_remove_settings(struct config_file *file, uint32_t section,
	bool (*chosen)(const struct config_setting *setting, const void *arg), const void *arg);
