/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Configuration of a command: its options, with values from the command line and the configuration
 * file. Loading checks everything that does not depend on the machine. Other modules define the
 * options (config/option.h).
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "config/option.h"

#define CONFIG_MEASUREMENTS_MAX 16
#define CONFIG_ROWS_MAX         128 /* options of a command */
#define CONFIG_BLOCKS_MAX       48
#define CONFIG_BLOCK_BYTES      (64 << 10) /* bytes for the option structs of a run */
#define MEASUREMENT_BLOCKS_MAX  8
#define MEASUREMENT_BLOCK_BYTES 2048
#define CONFIG_KINDS_MAX        4  /* kinds of sections such as [export NAME] */
#define CONFIG_NAMED_MAX        32 /* sections such as [export NAME] */
#define CONFIG_TITLE_MAX        80
#define NAMED_BLOCK_BYTES       1024

/* Origin of a value. A later level takes precedence over an earlier one. */
enum option_level {
	OPTION_BY_NOBODY,
	OPTION_BY_DEFAULT,
	OPTION_BY_FILE,    /* section of the whole run */
	OPTION_BY_SECTION, /* other section of the file */
	OPTION_BY_COMMAND_LINE,
	OPTION_BY_CHANGE, /* sketchtap ctl measure */
};

struct option_origin {
	enum option_level level;
	uint32_t line;  /* line of the file; 0: not from a file */
	const char *as; /* name that the user wrote, such as a former name; NULL: row.name */
};

#define CONFIG_SET "set" /* name of an option; option_origin.as of the keys that it sets */

/* A copied string; config_free() frees it. */
struct config_text {
	struct config_text *next;
	char text[];
};

/* Offset of an owner's option struct in `storage`. */
struct option_source {
	const struct option_owner *owner;
	uint32_t offset;
};

/*
 * Options of a measurement: of its section, or of the command line if the file has no such section.
 */
struct measurement_config {
	const char *name;                              /* section name; "main" without sections */
	struct option_origin origins[CONFIG_ROWS_MAX]; /* indexed as config.rows */
	uint32_t nb_sources, used;
	struct option_source sources[MEASUREMENT_BLOCKS_MAX];
	_Alignas(16) unsigned char storage[MEASUREMENT_BLOCK_BYTES];
};

/* Section [WORD NAME] of a configuration file, such as [export NAME]; not [measurement NAME]. */
struct config_named {
	const struct option_owner *owner;
	const char *name;
	char title[CONFIG_TITLE_MAX]; /* "[export NAME]" */
	uint32_t line;                /* first line */
	/* option structs of `owner` and of its sub-owners */
	_Alignas(16) unsigned char storage[NAMED_BLOCK_BYTES];
};

struct config_file;
struct command;
struct program;

/*
 * A copy of this struct shares the strings of the original. Call config_free() for only one of
 * them, after the last use of both.
 */
struct config {
	const struct program *program;
	const struct command *command;
	int argc;
	char *const *argv;
	uint32_t nb_rows; /* options of the command */
	struct config_row {
		const struct option_row *row;
		const struct option_owner *owner;
		const struct option_selected *also; /* second meaning; see option_row.selects */
	} rows[CONFIG_ROWS_MAX];
	struct option_origin origins[CONFIG_ROWS_MAX];
	uint32_t nb_measurements;
	struct measurement_config measurements[CONFIG_MEASUREMENTS_MAX];
	struct measurement_config common; /* initial values of every measurement */
	uint32_t nb_kinds;
	const struct option_owner *kinds[CONFIG_KINDS_MAX]; /* one for all [export NAME], ... */
	uint32_t nb_named;
	struct config_named named[CONFIG_NAMED_MAX]; /* in the order of the file */
	struct config_file *file;                    /* owns its strings; NULL: no file */
	struct config_text *texts; /* copies of strings, freed with the configuration */
	uint32_t nb_sources, used;
	struct option_source sources[CONFIG_BLOCKS_MAX];
	_Alignas(16) unsigned char storage[CONFIG_BLOCK_BYTES];
};

/* A short option of tcpdump that the command does not have. */
struct command_letter {
	char letter;     /* 0 ends the list */
	const char *why; /* error message; NULL: the letter is ignored */
};

struct command {
	const char *name;                         /* one word */
	const char *usage;                        /* text after the name */
	const char *summary;                      /* a line */
	const char *about;                        /* description in --help; NULL: the summary */
	const struct option_owner *const *owners; /* NULL at the end */
	const char *argument; /* option whose name may be omitted before its value; NULL: none */
	const char *stray;    /* ends the error about a surplus argument; NULL: a general advice */
	const struct command_letter *letters; /* NULL: none */
	const char *const *examples; /* lines for --help, NULL at the end; NULL: no examples */
	/* Checks the options after check() of all owners has succeeded. NULL: no check. */
	bool (*check)(const struct config *config, struct option_fault *fault);
	/* Changes defaults if standard output is a terminal. NULL: no changes. */
	void (*at_terminal)(struct config *config);
	int (*run)(struct config *config); /* returns the exit status */
};

/* A term that --help all explains. */
struct program_term {
	const char *word, *meaning;
};

/* A command that parses its arguments itself. */
struct program_other {
	const char *name;
	const char *usage, *summary;       /* see struct command */
	int (*run)(int argc, char **argv); /* argv[0] is the name; returns the exit status */
};

struct program {
	const char *name;
	const struct command *const *commands; /* NULL at the end */
	bool named;       /* the user must name a command; else the first one is the default */
	const char *hint; /* advice for an unknown command; NULL: none */
	const struct program_other *others; /* a list that ends with name NULL; NULL: none */
	const struct program_term *terms;   /* a list that ends with word NULL; NULL: none */
};

#define CONFIG_ERROR_MAX 1024 /* bytes of an error line */

enum config_result {
	CONFIG_OK,
	CONFIG_EXIT_0, /* --help or --version: printed the text on `out` */
	/* failure of the system, such as an unreadable file; wrote one line to `err` */
	CONFIG_EXIT_1,
	CONFIG_EXIT_2, /* error in the command line or the file; wrote one line to `err` */
};

/*
 * Reads argv and the file of --config. On CONFIG_OK, the strings in *config belong to it or point
 * into argv, and the caller must call config_free(). After any other result, there is nothing to
 * free.
 */
enum config_result config_load(struct config *config, const struct program *program, int argc,
	char *const argv[], FILE *out, FILE *err);
void config_free(struct config *config);

/* Makes an empty configuration with the options of a command. */
void config_init(struct config *config, const struct command *command);
/* Returns true if the command has options of measurements. */
bool config_measures(const struct config *config);

/* Returns an option struct of a section. owner: owner of the section, or one of its sub-owners. */
const void *config_named_block(const struct config_named *named, const struct option_owner *owner);

/* Returns the line on which the section sets a key, or 0. key: NAME or NAME.PROPERTY. */
uint32_t config_named_line(
	const struct config *config, const struct config_named *named, const char *key);

/* Returns the row of key i that the section sets, from 0; the row is NULL after the last. */
struct config_row config_named_key(
	const struct config *config, const struct config_named *named, uint32_t i);

/*
 * Loads the command line of `running` again, with `file` as the configuration file. NULL: reads the
 * file of --config again. Takes ownership of `file`. Returns as config_load(), but writes the error
 * line to error[CONFIG_ERROR_MAX].
 */
enum config_result config_load_again(
	struct config *config, const struct config *running, struct config_file *file, char *error);

/*
 * Returns false, with one line in error[size], if the output file of an option is a regular file
 * that the run also reads. fd: the open output, so that a renamed file does not matter; -1: looks
 * up the name.
 */
bool config_spares_inputs(const struct config *config, const char *option, const char *output,
	int fd, char *error, size_t size);
