/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What the user asked for: a command's options applied to a configuration file and a command line,
 * checked as far as the text alone can be. What the options are is their owners' business.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "config/option.h"

#define CONFIG_MEASUREMENTS_MAX 16
#define CONFIG_ROWS_MAX         128 /* of a command */
#define CONFIG_BLOCKS_MAX       48
#define CONFIG_BLOCK_BYTES      (64 << 10) /* of all a run's structs */
#define MEASUREMENT_BLOCKS_MAX  8
#define MEASUREMENT_BLOCK_BYTES 2048
#define CONFIG_KINDS_MAX        4  /* of sections with keys of their own */
#define CONFIG_NAMED_MAX        32 /* of such sections */
#define CONFIG_TITLE_MAX        80
#define NAMED_BLOCK_BYTES       512

/* Who gave an option. A later one of the list wins over an earlier one. */
enum option_level {
	OPTION_BY_NOBODY,
	OPTION_BY_DEFAULT,
	OPTION_BY_FILE,    /* for the whole run */
	OPTION_BY_SECTION, /* of the file */
	OPTION_BY_COMMAND_LINE,
	OPTION_BY_CHANGE, /* while the run goes on */
};

struct option_origin {
	enum option_level level;
	uint32_t line;  /* in the file; 0: not from a file */
	const char *as; /* name used by the user, or CONFIG_SET; NULL: the name of the row */
};

#define CONFIG_SET "set" /* the option that sets keys of the configuration file */

/* A text that a configuration owns. */
struct config_text {
	struct config_text *next;
	char text[];
};

/* Where an owner's struct lies. */
struct option_place {
	const struct option_owner *owner;
	uint32_t offset;
};

/* One question put to the traffic: a section [measurement NAME], or the command line's own. */
struct measurement_config {
	const char *name;                              /* "main" where there is one */
	struct option_origin origins[CONFIG_ROWS_MAX]; /* by row of the configuration */
	uint32_t nb_places, used;
	struct option_place places[MEASUREMENT_BLOCKS_MAX];
	_Alignas(16) unsigned char storage[MEASUREMENT_BLOCK_BYTES];
};

/* A section with keys of its own: [export NAME]. */
struct config_named {
	const struct option_owner *owner;
	const char *name;
	char title[CONFIG_TITLE_MAX];                          /* "[export NAME]" */
	uint32_t line;                                         /* where it begins */
	_Alignas(16) unsigned char storage[NAMED_BLOCK_BYTES]; /* the owner's struct */
};

struct config_file;
struct command;
struct program;

/* May be copied: a copy shares the strings, which live until config_free() of one of them. */
struct config {
	const struct program *program;
	const struct command *command;
	int argc;
	char *const *argv;
	uint32_t nb_rows; /* options of the command */
	struct config_row {
		const struct option_row *row;
		const struct option_owner *owner;
	} rows[CONFIG_ROWS_MAX];
	struct option_origin origins[CONFIG_ROWS_MAX];
	uint32_t nb_measurements;
	struct measurement_config measurements[CONFIG_MEASUREMENTS_MAX];
	struct measurement_config common; /* what every measurement starts from */
	uint32_t nb_kinds;
	const struct option_owner *kinds[CONFIG_KINDS_MAX]; /* of such sections */
	uint32_t nb_named;
	struct config_named named[CONFIG_NAMED_MAX]; /* as they stand in the file */
	struct config_file *file;  /* owns the strings that came from it; NULL: there is none */
	struct config_text *texts; /* parts of values */
	uint32_t nb_places, used;
	struct option_place places[CONFIG_BLOCKS_MAX];
	_Alignas(16) unsigned char storage[CONFIG_BLOCK_BYTES];
};

/* A letter of tcpdump that is no option. */
struct command_letter {
	char letter;     /* 0 ends the list */
	const char *why; /* it is refused; NULL: it changes nothing */
};

struct command {
	const char *name;                         /* one word */
	const char *usage;                        /* what stands behind the name */
	const char *summary;                      /* a line */
	const char *about;                        /* sentences for its help; NULL: the summary */
	const struct option_owner *const *owners; /* NULL at the end */
	const char *argument;                     /* the option that words go to; NULL: none */
	const char *stray; /* what to do about a word that looks like no file; NULL: nothing more */
	const struct command_letter *letters; /* NULL: none */
	const char *const *examples;          /* lines, NULL at the end; NULL: none */
	/* As of an owner, after those of all owners. NULL: nothing. */
	bool (*check)(const struct config *config, struct option_fault *fault);
	/* Suits what nobody asked for to a person who reads a terminal. NULL: nothing. */
	void (*at_terminal)(struct config *config);
	int (*run)(struct config *config); /* returns the exit status */
};

/* A word of help that a newcomer may not know. */
struct program_term {
	const char *word, *meaning;
};

/* A command that reads its own words. */
struct program_other {
	const char *name;
	const char *usage, *summary;       /* as of a command */
	int (*run)(int argc, char **argv); /* argv[0] is the name; returns the exit status */
};

struct program {
	const char *name;
	const struct command *const *commands; /* NULL at the end */
	bool named;       /* a command must be named; else the first may be left out */
	const char *hint; /* for who gave an unknown command; NULL: none */
	const struct program_other *others; /* up to one without a name; NULL: none */
	const struct program_term *terms;   /* up to one without a word; NULL: none */
};

#define CONFIG_ERROR_MAX 1024 /* of a line that says what is wrong */

enum config_result {
	CONFIG_OK,
	CONFIG_EXIT_0, /* --help or --version was answered on `out` */
	CONFIG_EXIT_1, /* the machine said no (a configuration file that cannot be read): one line
			  on `err` */
	CONFIG_EXIT_2, /* a mistake in the text: one line on `err` */
};

/*
 * Reads argv, and the file that --config names under it (the command line wins). Strings of the
 * result live until config_free(), as long as argv does. What is not CONFIG_OK needs no
 * config_free().
 */
enum config_result config_load(struct config *config, const struct program *program, int argc,
	char *const argv[], FILE *out, FILE *err);
void config_free(struct config *config);

/* An empty configuration with the options of a command. */
void config_init(struct config *config, const struct command *command);
/* Whether the command has options of measurements. */
bool config_measures(const struct config *config);

/* Where the section has the key (NAME.PROPERTY of properties); 0: nowhere. */
uint32_t config_named_line(
	const struct config *config, const struct config_named *named, const char *key);

/* Its keys, from 0, as rows name them; NULL behind the last. */
const char *config_named_key(
	const struct config *config, const struct config_named *named, uint32_t i);

/*
 * The command line of a running configuration again, with `file` in the place of what --config
 * names; NULL: that is read again. `file` is taken over, in any case. As config_load(), but that the
 * line is left in error[CONFIG_ERROR_MAX].
 */
enum config_result config_load_again(
	struct config *config, const struct config *running, struct config_file *file, char *error);

/*
 * Returns false with one line in error[size] where the output of an option is a regular file that
 * the run reads. fd is of the output where it is open, so that no other file can be meant than the
 * one that is written; -1: what the name stands for now.
 */
bool config_spares_inputs(const struct config *config, const char *option, const char *output,
	int fd, char *error, size_t size);
