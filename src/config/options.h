/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The options table: one row per option. The command line, --help, the configuration file and the
 * options part of the man page all come from it. A new option is a row here and a field of struct
 * config or struct measurement_config.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "config/config.h"

#define OPTIONS_MAX 128 /* rows; the table asserts it */

enum option_group {
	OPTION_GROUP_SOURCE,
	OPTION_GROUP_DESTINATION,
	OPTION_GROUP_MEASURE,
	OPTION_GROUP_BENCH,
	OPTION_GROUP_REPORT,
	OPTION_GROUP_HOST,
	OPTION_GROUP_COUNT,
};

/* What an option's text is, and which C type it fills. */
enum option_type {
	OPTION_FLAG,   /* bool; no value on the command line, yes or no in the file */
	OPTION_STRING, /* const char *, not empty */
	OPTION_LIST,  /* const char *[CONFIG_LIST_MAX], repeatable; count_offset has their number */
	OPTION_COUNT, /* uint32_t or uint64_t, min to max, units of units_count() */
	OPTION_SIZE,  /* uint64_t bytes */
	OPTION_TIME,  /* uint64_t ns, min to max; 0 is allowed where zero is set */
	OPTION_FRACTION, /* double, below 1; 0 and 1 are allowed where zero and one are set */
	OPTION_CHOICE,   /* an enum: the index of the word in choices */
	OPTION_WORD,     /* const char *, one of choices */
	OPTION_PACE,     /* enum pace, and config.pace_rate */
	OPTION_SEED,     /* uint64_t, decimal or 0x, and config.seed_given */
	OPTION_ROTATE,   /* struct rotate_limits */
	OPTION_RSS_KEY,  /* enum rss_key, and config.rss_key_bytes */
	OPTION_MTU,      /* uint32_t, min to max, or max: CONFIG_MTU_MAX */
	OPTION_LCORES,   /* const char *, a CPU list */
	OPTION_KEY,      /* struct key_rule */
	OPTION_SKETCH,   /* const char *, a name of sketches[] */
	OPTION_WORDS,    /* uint32_t, a set: bit i where choices[i] is in the list A,B,... */
	OPTION_SKETCHES, /* uint32_t, a set: bit i where the name of sketches[i] is in the list */
	OPTION_COUNTS,   /* struct config_values, a list of what OPTION_COUNT takes */
	OPTION_ZIPFS,    /* struct config_values, a list of exponents x 10^6, uniform, random */
	OPTION_ACTION,   /* nothing: config_load() acts on it; command line only */
};

/* Where the field lies, and with that where the option may stand. */
enum option_scope {
	OPTION_OF_CONFIG,      /* struct config */
	OPTION_OF_MEASUREMENT, /* struct measurement_config: [measurement] sections too */
};

/* Options of one set exclude each other. */
enum option_set {
	OPTION_SET_NONE,
	OPTION_SET_SOURCE,
	OPTION_SET_DESTINATION,
	OPTION_SET_SHAPE,
	OPTION_SET_EXISTING,
};

/* Without what an option has no effect; then it is refused (config_check.h). */
enum option_need {
	OPTION_NEED_NOTHING,
	OPTION_NEED_PORT,
	OPTION_NEED_HASH,         /* of a port, that spreads packets */
	OPTION_NEED_TIMES,        /* of a port's packets */
	OPTION_NEED_NO_PORT,      /* but the generator of a bench */
	OPTION_NEED_EAL,          /* which a capture is written without */
	OPTION_NEED_ASYNC,        /* --design async */
	OPTION_NEED_SHARED,       /* --sharing shared */
	OPTION_NEED_MONITOR,      /* --monitor */
	OPTION_NEED_FLOW_TABLE,   /* --sketch flow-table */
	OPTION_NEED_IDLE_TIMEOUT, /* --idle-timeout */
	OPTION_NEED_IBLT,         /* --sketch iblt */
	OPTION_NEED_RECORDS,      /* a measurement that keeps them */
	OPTION_NEED_FILE,         /* an output that has a name */
	OPTION_NEED_DRAWN_FLOWS,  /* traffic of a bench that is drawn from flows */
	OPTION_NEED_NO_VERBOSE,
	OPTION_NEED_COUNT,
};

struct option_row {
	const char *name;        /* without the dashes */
	char letter;             /* what tcpdump calls it; 0: nothing */
	const char *placeholder; /* of the value; NULL where there is none */
	enum option_group group;
	enum option_type type;
	enum option_scope scope;
	enum option_set set;
	enum option_need need;
	uint32_t commands; /* bit c is set where enum command c takes it */
	size_t offset, size, count_offset;
	uint64_t min, max;
	bool zero;                  /* 0 is allowed although it lies below min */
	const char *zero_means;     /* of a time, for who gave less than min; or NULL */
	bool one;                   /* 1 is allowed, of a fraction */
	bool power_of_two;          /* OPTION_COUNT */
	const char *const *choices; /* NULL at the end */
	const char *default_text;   /* applied before anything else; NULL: the field stays 0 */
	const char *default_note;   /* what help says where default_text does not */
	const char *help;
};

extern const struct option_row options[];
extern const unsigned int nb_options;

/* Names of the commands, by enum command. */
#define COMMAND_COUNT (COMMAND_BENCH_TUNE + 1)
extern const char *const command_names[COMMAND_COUNT];

static inline bool option_of_command(const struct option_row *row, enum command command)
{
	return (row->commands >> command & 1) != 0;
}

/* The row of this name for a command; NULL where the command has none. */
const struct option_row *option_find(enum command command, const char *name);

/* The same for -LETTER. */
const struct option_row *option_find_letter(enum command command, char letter);

/* The command's option whose name is nearest to a mistyped one; NULL where none is near. */
const struct option_row *option_nearest(enum command command, const char *name);

/* A word of help on the group: "Source". */
extern const char *const option_group_names[OPTION_GROUP_COUNT];

/* Lines of help that say how values with units are written; NULL at the end. */
extern const char *const option_unit_lines[];

/* Lines of help that say which design, sharing and sketch suits what; NULL at the end. */
extern const char *const option_choice_lines[];

/* What stands for "when it is not given" in help and man page; NULL where there is nothing to
 * say. */
const char *option_default(const struct option_row *row);

void options_print_help(enum command command, FILE *out);
