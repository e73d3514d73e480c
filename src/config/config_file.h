/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The configuration file as it is written: which option stands in which section on which line. What
 * the values mean is config_load.c's business.
 *
 * INI: NAME = VALUE lines with the names of the command line. Before any section, or in
 * [sketchtap], they hold for the whole run; each [measurement NAME] section is one measurement. Other
 * sections [WORD NAME] have keys of their own.
 * Comments start with # or ; at the start of a line, or with ; after a space.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

#define CONFIG_FILE_ERROR_MAX 700

struct config_setting {
	struct config_row row;
	char *value;      /* of a property PROPERTY=VALUE */
	uint32_t section; /* of config_file.sections, or CONFIG_FIRST_NAMED + one of named */
	uint32_t line;    /* 0: it stands in no file, but was said while the run went on */
	const char *as;   /* as of an origin */
};

#define CONFIG_FIRST_NAMED (1 + CONFIG_MEASUREMENTS_MAX)

struct config_section {
	char *name; /* NULL in section 0, which holds for the whole run */
	uint32_t line;
	const struct option_owner *owner; /* of the keys of one with a word; NULL: of all others */
};

struct config_file {
	const char *path;
	struct config_section sections[1 + CONFIG_MEASUREMENTS_MAX];
	uint32_t nb_sections; /* at least 1 */
	struct config_section named[CONFIG_NAMED_MAX];
	uint32_t nb_named;
	struct config_setting *settings;
	uint32_t nb_settings;
};

/*
 * Reads the file at path, which must outlive the result, for the options of `config`. Returns
 * CONFIG_OK with *file set, or CONFIG_EXIT_1 or CONFIG_EXIT_2 with one line in
 * error[CONFIG_FILE_ERROR_MAX] ("FILE:LINE: ...", without a line where it cannot be read at all).
 * What is read again must be a regular file: a pipe is empty by then, or waits for a writer.
 */
enum config_result config_file_read(struct config_file **file, const char *path, bool again,
	const struct config *config, char *error);
void config_file_free(struct config_file *file); /* NULL is allowed */

/* Whether a section [measurement NAME] may have this name. */
bool config_file_is_name(const char *name);
/* The section of that measurement; nb_sections: there is none. */
uint32_t config_file_find_section(const struct config_file *file, const char *name);
/* The section [WORD NAME] of the owner's; nb_named: there is none. */
uint32_t config_file_find_named(
	const struct config_file *file, const struct option_owner *owner, const char *name);
/* Whether a setting is of the key: NAME, or NAME.PROPERTY. */
bool config_setting_is(const struct config_setting *setting, const char *key);

/* What is to be changed of a file that was read, to be given to config_load_again(). `file` may be
 * NULL, as of a run without one. Each of these returns NULL or false without memory. */
struct config_file *config_file_copy(const struct config_file *file);
/* At most CONFIG_MEASUREMENTS_MAX of them. */
bool config_file_add_section(struct config_file *file, const char *name);
bool config_file_add_setting(struct config_file *file, uint32_t section,
	const struct config_row *row, const char *value, struct option_origin at);
/* Replaces "KEY=VALUE" of a section in file->named, or adds it, as --set. */
bool config_file_set_named(struct config_file *file, uint32_t n, const struct config_row *row,
	const char *key, const char *value);
void config_file_remove_section(struct config_file *file, uint32_t section);
/* Removes settings of a section that are chosen. */
void config_file_remove_settings(struct config_file *file, uint32_t section,
	bool (*chosen)(const struct config_setting *setting, const void *arg), const void *arg);
