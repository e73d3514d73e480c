/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Reads the text of a configuration file into settings with their sections and lines. config_load.c
 * interprets the values.
 *
 * The file has lines NAME = VALUE, with the option names of the command line. Lines before any
 * section, or in [sketchtap], apply to the whole run. Each section [measurement NAME] is one
 * measurement. Other sections [WORD NAME], such as [export NAME], have keys of their own. A comment
 * starts with # or ; at the start of a line, or with ; after a space.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

#define CONFIG_FILE_ERROR_MAX 700

struct config_setting {
	struct config_row row;
	char *value; /* text after "="; for a key NAME.PROPERTY: PROPERTY=VALUE */
	/* index in `sections` of config_file, or CONFIG_FIRST_NAMED + index in `named` */
	uint32_t section;
	uint32_t line;  /* line of the file; 0: set by a command during the run */
	const char *as; /* see struct option_origin */
};

#define CONFIG_FIRST_NAMED (1 + CONFIG_MEASUREMENTS_MAX)

struct config_section {
	char *name; /* NULL in section 0, which applies to the whole run */
	uint32_t line;
	/* owner of a section such as [export NAME]; NULL: measurement or whole run */
	const struct option_owner *owner;
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
 * Reads the file at `path` for the options of `config`. Stores the pointer `path`, so the string
 * must outlive *file. Returns CONFIG_OK with *file set, or an error with one line in
 * error[CONFIG_FILE_ERROR_MAX]. The line begins "FILE:LINE:", or "FILE:" if the file cannot be
 * read. again: a reload. A reload requires a regular file, because a pipe would be empty or block.
 */
enum config_result config_file_read(struct config_file **file, const char *path, bool again,
	const struct config *config, char *error);
void config_file_free(struct config_file *file); /* NULL is allowed */

/* Returns true if a section [measurement NAME] may have this name. */
bool config_file_is_name(const char *name);
/* Returns the index of section [measurement NAME]; nb_sections if there is none. */
uint32_t config_file_find_section(const struct config_file *file, const char *name);
/* Returns the index in file->named of a section of this owner; nb_named if there is none. */
uint32_t config_file_find_named(
	const struct config_file *file, const struct option_owner *owner, const char *name);
/* Returns true if a setting has this key: NAME, or NAME.PROPERTY. */
bool config_setting_is(const struct config_setting *setting, const char *key);

/*
 * The following functions edit a copy of a file for config_load_again(). `file` may be NULL for a
 * run without a file. They return NULL or false if out of memory.
 */
struct config_file *config_file_copy(const struct config_file *file);
/* Adds a section [measurement NAME]. The caller ensures the limit CONFIG_MEASUREMENTS_MAX. */
bool config_file_add_section(struct config_file *file, const char *name);
bool config_file_add_setting(struct config_file *file, uint32_t section,
	const struct config_row *row, const char *value, struct option_origin at);
/* Sets a key of section n of file->named, as --set does. */
bool config_file_set_named(struct config_file *file, uint32_t n, const struct config_row *row,
	const char *key, const char *value);
void config_file_remove_section(struct config_file *file, uint32_t section);
/* Removes the settings of a section for which chosen() returns true. */
void config_file_remove_settings(struct config_file *file, uint32_t section,
	bool (*chosen)(const struct config_setting *setting, const void *arg), const void *arg);
