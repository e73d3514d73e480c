/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Configuration of a command: the values of its options from the command line and the configuration
 * file. Loading checks everything that does not depend on the machine.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "config/option.h"

#define CONFIG_MEASUREMENTS_MAX 16
#define CONFIG_ROWS_MAX         128
#define CONFIG_BLOCKS_MAX       64
#define CONFIG_BLOCK_BYTES      (96 << 10)
#define MEASUREMENT_BLOCKS_MAX  8
#define MEASUREMENT_BLOCK_BYTES 2048
#define CONFIG_KINDS_MAX        4 /* section types, such as [export NAME] */
#define CONFIG_TITLE_MAX        80
#define NAMED_BLOCK_BYTES       1024

/* Where a value comes from. A later level takes precedence over an earlier one. */
enum option_level {
	OPTION_BY_NOBODY,
	OPTION_BY_DEFAULT,
	OPTION_BY_FILE,
	OPTION_BY_SECTION,
	OPTION_BY_COMMAND_LINE,
	OPTION_BY_CHANGE,
};

struct option_origin {
	enum option_level level;
	uint32_t line;  /* 0: not from a file */
	const char *as; /* name by which the user set the option; NULL: row.name */
};

#define CONFIG_SET "set"

struct config_text {
	struct config_text *next;
	char text[];
};

struct option_source {
	const struct option_owner *owner;
	uint32_t offset;
};

/* One measurement. Without [measurement NAME] sections, the command line defines it. */
struct measurement_config {
	const char *name;                              /* "main" without sections */
	struct option_origin origins[CONFIG_ROWS_MAX]; /* same indices as config.rows */
	uint32_t nb_sources, used;
	struct option_source sources[MEASUREMENT_BLOCKS_MAX];
	_Alignas(16) unsigned char storage[MEASUREMENT_BLOCK_BYTES];
};

struct config_named {
	const struct option_owner *owner;
	const char *name;
	char title[CONFIG_TITLE_MAX];
	uint32_t line;
	/* structs of `owner` and its sub-owners */
	_Alignas(16) unsigned char storage[NAMED_BLOCK_BYTES];
};

struct config_file;
struct command;
struct program;

struct config {
	const struct program *program;
	const struct command *command;
	int argc;
	char *const *argv;
	bool again; /* changes a run */
	uint32_t nb_rows;
	struct config_row {
		const struct option_row *row;
		const struct option_owner *owner;
		const struct option_selected *also; /* set if two rows have this name */
	} rows[CONFIG_ROWS_MAX];
	struct option_origin origins[CONFIG_ROWS_MAX];
	uint32_t nb_measurements;
	struct measurement_config measurements[CONFIG_MEASUREMENTS_MAX];
	struct measurement_config common; /* initial values of every measurement */
	uint32_t nb_kinds;
	/* owners of sections such as [export NAME] */
	const struct option_owner *kinds[CONFIG_KINDS_MAX];
	uint32_t nb_named;
	struct config_named *named; /* [nb_named], from malloc() */
	struct config_file *file;   /* owns the texts of its values; NULL: no file */
	struct config_text *texts;
	uint32_t nb_sources, used;
	struct option_source sources[CONFIG_BLOCKS_MAX];
	_Alignas(16) unsigned char storage[CONFIG_BLOCK_BYTES];
};

/* A short option of tcpdump that the command does not support. */
struct command_letter {
	char letter; /* 0 ends the list */
	const char *why;
};

struct command {
	const char *name;
	const char *usage;
	const char *summary;
	const char *about;                        /* text of --help; NULL: the summary */
	const struct option_owner *const *owners; /* NULL at the end */
	const char *argument; /* option that a word without option name sets; NULL: none */
	const char *stray;    /* end of the error about a surplus word; NULL: the usual advice */
	const struct command_letter *letters;
	const char *const *examples; /* for --help; NULL at the end */
	bool (*check)(const struct config *config, struct option_fault *fault);
	void (*at_terminal)(struct config *config);
	int (*run)(struct config *config);
};

struct program_term {
	const char *word, *meaning;
};

struct program_other {
	const char *name;
	const char *usage, *summary;
	int (*run)(int argc, char **argv);
};

struct program {
	const char *name;
	const struct command *const *commands; /* NULL at the end */
	bool named; /* the user must name a command; false: the first is the default */
	const char *hint;
	const struct program_other *others; /* parse their arguments; name NULL at the end */
	const struct program_term *terms;   /* glossary of --help all; word NULL at the end */
};

#define CONFIG_ERROR_MAX 1024

enum config_result {
	CONFIG_OK,
	CONFIG_EXIT_0, /* --help or --version: the text was printed on `out` */
	/* system failure; one line was written to `err` */
	CONFIG_EXIT_1,
	CONFIG_EXIT_2, /* usage error; one line was written to `err` */
};

/*
 * Reads argv and the file of --config. *config must be freed only after CONFIG_OK. Its strings
 * belong to it or point into argv.
 */
enum config_result config_load(struct config *config, const struct program *program, int argc,
	char *const argv[], FILE *out, FILE *err);
void config_free(struct config *config);

void config_init(struct config *config, const struct command *command);
bool config_measures(const struct config *config);

const void *config_named_block(const struct config_named *named, const struct option_owner *owner);

/* Returns the line at which the section sets NAME or NAME.PROPERTY; 0: it does not. */
uint32_t config_named_line(
	const struct config *config, const struct config_named *named, const char *key);

/* Returns the option that the i-th line of the section sets; row is NULL after the last. */
struct config_row config_named_key(
	const struct config *config, const struct config_named *named, uint32_t i);

/*
 * Loads the command line of `running` again. file: replaces the configuration file, and is owned
 * from then on; NULL: reads the file of --config again. Writes errors to error[CONFIG_ERROR_MAX].
 */
enum config_result config_load_again(
	struct config *config, const struct config *running, struct config_file *file, char *error);

/*
 * Returns false, with a line in error[size], if the output is a regular file that the run also
 * reads. fd: the open output, which may have been renamed; -1: only its name is known.
 */
bool config_spares_inputs(const struct config *config, const char *option, const char *output,
	int fd, char *error, size_t size);
