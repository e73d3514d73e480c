/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A configuration: the options of a command with the values of a configuration file and a command
 * line. Checks everything that can be checked without the machine. Owners define the options.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "config/option.h"

#define CONFIG_MEASUREMENTS_MAX 16
#define CONFIG_ROWS_MAX         128 /* options of a command */
#define CONFIG_BLOCKS_MAX       48
#define CONFIG_BLOCK_BYTES      (64 << 10) /* bytes of all structs of a run */
#define MEASUREMENT_BLOCKS_MAX  8
#define MEASUREMENT_BLOCK_BYTES 2048
#define CONFIG_KINDS_MAX        4  /* kinds of sections with their own keys */
#define CONFIG_NAMED_MAX        32 /* number of such sections */
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
	const char *as; /* name used by the user, or CONFIG_SET; NULL: the name of the row */
};

#define CONFIG_SET "set" /* the option that sets keys of the configuration file */

/* A text that a configuration owns. */
struct config_text {
	struct config_text *next;
	char text[];
};

/* Location of the struct of an owner. */
struct option_source {
	const struct option_owner *owner;
	uint32_t offset;
};

/* A measurement: a section [measurement NAME], or the only one of the command line. */
struct measurement_config {
	const char *name;                              /* section name; "main" without sections */
	struct option_origin origins[CONFIG_ROWS_MAX]; /* indexed by row of the configuration */
	uint32_t nb_sources, used;
	struct option_source sources[MEASUREMENT_BLOCKS_MAX];
	_Alignas(16) unsigned char storage[MEASUREMENT_BLOCK_BYTES];
};

/* A section with its own keys: [export NAME]. */
struct config_named {
	const struct option_owner *owner;
	const char *name;
	char title[CONFIG_TITLE_MAX]; /* "[export NAME]" */
	uint32_t line;                /* first line */
	/* structs of the owner and of its parts */
	_Alignas(16) unsigned char storage[NAMED_BLOCK_BYTES];
};

struct config_file;
struct command;
struct program;

/* A copy shares the strings, which live until config_free() of one of them. */
struct config {
	const struct program *program;
	const struct command *command;
	int argc;
	char *const *argv;
	uint32_t nb_rows; /* options of the command */
	struct config_row {
		const struct option_row *row;
		const struct option_owner *owner;
		/* what a later row of the same name selects; NULL: there is none */
		const struct option_selected *also;
	} rows[CONFIG_ROWS_MAX];
	struct option_origin origins[CONFIG_ROWS_MAX];
	uint32_t nb_measurements;
	struct measurement_config measurements[CONFIG_MEASUREMENTS_MAX];
	struct measurement_config common; /* initial values of every measurement */
	uint32_t nb_kinds;
	/* owners of sections with their own keys */
	const struct option_owner *kinds[CONFIG_KINDS_MAX];
	uint32_t nb_named;
	struct config_named named[CONFIG_NAMED_MAX]; /* in the order of the file */
	struct config_file *file;  /* owns the strings that it contains; NULL: no file */
	struct config_text *texts; /* owned parts of values */
	uint32_t nb_sources, used;
	struct option_source sources[CONFIG_BLOCKS_MAX];
	_Alignas(16) unsigned char storage[CONFIG_BLOCK_BYTES];
};

/* A letter of tcpdump that is not an option. */
struct command_letter {
	char letter;     /* 0 ends the list */
	const char *why; /* reason to reject it; NULL: ignored */
};

struct command {
	const char *name;                         /* one word */
	const char *usage;                        /* text after the name */
	const char *summary;                      /* a line */
	const char *about;                        /* sentences for its help; NULL: the summary */
	const struct option_owner *const *owners; /* NULL at the end */
	const char *argument; /* option that gets words without an option; NULL: none */
	const char *stray;    /* advice for a word that does not look like a file; NULL: none */
	const struct command_letter *letters; /* NULL: none */
	const char *const *examples;          /* NULL-terminated lines; NULL: none */
	/* Serves as check() of an owner; called last. NULL: no check. */
	bool (*check)(const struct config *config, struct option_fault *fault);
	/* Changes defaults for output to a terminal. NULL: none. */
	void (*at_terminal)(struct config *config);
	int (*run)(struct config *config); /* returns the exit status */
};

/* A term that --help all explains. */
struct program_term {
	const char *word, *meaning;
};

/* A command with its own arguments. */
struct program_other {
	const char *name;
	const char *usage, *summary;       /* see struct command */
	int (*run)(int argc, char **argv); /* argv[0] is the name; returns the exit status */
};

struct program {
	const char *name;
	const struct command *const *commands; /* NULL at the end */
	bool named;       /* the command must be named; else the default is the first one */
	const char *hint; /* advice for an unknown command; NULL: none */
	const struct program_other *others; /* the last one has no name; NULL: none */
	const struct program_term *terms;   /* the last one has no word; NULL: none */
};

#define CONFIG_ERROR_MAX 1024 /* bytes of an error line */

enum config_result {
	CONFIG_OK,
	CONFIG_EXIT_0, /* --help or --version was answered on `out` */
	CONFIG_EXIT_1, /* failure of the system, such as an unreadable file: one line on `err` */
	CONFIG_EXIT_2, /* error in the text: one line on `err` */
};

/*
 * Reads argv and the file of --config. Strings of the result are valid until config_free(), and as
 * long as argv. After a result other than CONFIG_OK, config_free() is not needed.
 */
enum config_result config_load(struct config *config, const struct program *program, int argc,
	char *const argv[], FILE *out, FILE *err);
void config_free(struct config *config);

/* Makes an empty configuration with the options of a command. */
void config_init(struct config *config, const struct command *command);
/* Returns true if the command has options of measurements. */
bool config_measures(const struct config *config);

/* Returns the struct of the section's owner, or of one of its parts. */
const void *config_named_block(const struct config_named *named, const struct option_owner *owner);

/* Returns the line of a key (NAME or NAME.PROPERTY) of the section, or 0. */
uint32_t config_named_line(
	const struct config *config, const struct config_named *named, const char *key);

/* Returns the rows of the keys of the section, from 0; NULL after the last. */
struct config_row config_named_key(
	const struct config *config, const struct config_named *named, uint32_t i);

/*
 * Loads the command line of a running configuration again, with `file` instead of the file of
 * --config; NULL: reads that file again. Takes ownership of `file`. Like config_load(), but writes
 * the error line to error[CONFIG_ERROR_MAX].
 */
enum config_result config_load_again(
	struct config *config, const struct config *running, struct config_file *file, char *error);

/*
 * Returns false with one line in error[size] if the output of an option is a regular file that the
 * run reads. fd: the open output, so that the file cannot be another one; -1: look up the name.
 */
bool config_spares_inputs(const struct config *config, const char *option, const char *output,
	int fd, char *error, size_t size);
