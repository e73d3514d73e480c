/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Option tables. A module defines the rows of its options, and a struct that they fill; an owner is
 * both together. A command names its owners. The command line, the configuration file, help, the
 * man page and completion follow from these rows; there is no other list of options.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct config;
struct config_named;
struct measurement_config;
struct option_row;

#define OPTION_LIST_MAX       256 /* values of a repeatable option */
#define OPTION_VALUES_MAX     16  /* elements of a list of numbers */
#define OPTION_PROPERTIES_MAX 32
#define OPTION_CENTURY                                                                             \
	(UINT64_C(36525) * 24 * 3600 * 1000000000) /* ns; maximum of times without a limit */
#define OPTION_WHY_MAX 400                         /* bytes of an error text, with the value */

enum option_group {
	OPTION_GROUP_SOURCE,
	OPTION_GROUP_DESTINATION,
	OPTION_GROUP_MEASURE,
	OPTION_GROUP_TRY,
	OPTION_GROUP_REPORT,
	OPTION_GROUP_HOST,
	OPTION_GROUP_COUNT,
};

/* Syntax of a value, and the C type of its field. */
enum option_type {
	OPTION_FLAG,       /* bool; no value on the command line, yes or no in the file */
	OPTION_STRING,     /* const char *, not empty */
	OPTION_LIST,       /* struct option_list, repeatable */
	OPTION_COUNT,      /* uint32_t or uint64_t, min to max, units of units_count() */
	OPTION_SIZE,       /* uint64_t bytes */
	OPTION_TIME,       /* uint64_t ns, min to max; 0 is allowed if zero is set */
	OPTION_FRACTION,   /* double below 1; 0 and 1 are allowed if zero and one are set */
	OPTION_CHOICE,     /* an enum or uint32_t: i of word(i) */
	OPTION_WORDS,      /* uint32_t, a set: bit i if word(i) is in the list A,B,... */
	OPTION_COUNTS,     /* struct option_values, a list of counts */
	OPTION_OWN,        /* filled by read() */
	OPTION_OWN_LIST,   /* struct option_values; read() gets each element of A,B,... */
	OPTION_ACTION,     /* no field: config_load() handles it; command line only */
	OPTION_PROPERTIES, /* struct option_properties; keys NAME.PROPERTY of a section */
	OPTION_PARTS,      /* no field: its value sets one of its parts; repeatable */
};

struct option_list {
	uint32_t n;
	const char *texts[OPTION_LIST_MAX];
};

/* PROPERTY=VALUE of each key NAME.PROPERTY. */
struct option_properties {
	uint32_t n;
	const char *texts[OPTION_PROPERTIES_MAX];
};

/* A list of numbers; empty if the option was not given. */
struct option_values {
	uint32_t n;
	uint64_t values[OPTION_VALUES_MAX];
};

/* Argument of read(). */
struct option_text {
	const struct option_row *row;
	const char *text;
	void *field; /* field to fill */
	char *why;   /* [OPTION_WHY_MAX]: error text */
};

/* Data that only some destinations need: bits. */
enum option_need {
	OPTION_NEED_IP_BYTES = 1 << 0, /* bytes of IP packets, in addition to those of frames */
};

/* First member of the struct that an option selects, such as the traits of a source. */
struct option_selected {
	uint32_t is; /* properties, as bits; the not_for of other options lists some */
};

struct option_row {
	const char *name;        /* without dashes */
	const char *former;      /* name before it was renamed: accepted, not documented; or NULL */
	const char *placeholder; /* text for the value in help; NULL: no value */
	char letter;             /* short option of tcpdump; 0: none */
	bool rare;               /* only in --help all */
	bool config_only;        /* documented as a key of the configuration file */
	bool hidden;             /* accepted, but not documented by this name */
	/*
	 * Option whose value may contain this one, and its prefix there. ",after=": after a comma.
	 * "async:": after the value of the option. "queues=": instead of that value. Both options
	 * have the same owner, or none is of measurements.
	 */
	const char *part_of, *part;
	enum option_group group;
	enum option_type type;
	const char *set; /* options of one set exclude each other; NULL: no set */
	/*
	 * One option with `selects` is in effect: the given one, or else the assumed one. If two
	 * rows have the same name, the first is the option. The second selects instead if a given
	 * option is for its struct, and not for that of the first.
	 */
	const struct option_selected *selects; /* NULL: selects nothing */
	bool assumed;
	uint32_t not_for;    /* no effect if the selected struct has one of these properties */
	const char *instead; /* option to set in that case; NULL: none */
	size_t offset, size;
	uint64_t min, max;
	bool zero;              /* 0 is allowed below min */
	const char *zero_means; /* meaning of 0, for the error of a time below min; or NULL */
	bool one;               /* fraction: 1 is allowed */
	bool power_of_two;      /* OPTION_COUNT, OPTION_COUNTS */
	/* Values of OPTION_CHOICE and OPTION_WORDS, from 0; NULL after the last. */
	const char *(*word)(uint32_t i);
	const char *(*alias)(uint32_t i);       /* short name of the value; NULL: none */
	const char *(*former_word)(uint32_t i); /* accepted, not documented; NULL: none */
	const char *(*suits)(uint32_t i);       /* description for help; NULL: none */
	bool (*read)(const struct option_text *text);
	/* Returns why the option has no effect ("without --port"), which is an error, or NULL.
	 * measurement: owner of the value; NULL: the run. */
	const char *(*inapplicable)(
		const struct config *config, const struct measurement_config *measurement);
	/* Returns true if the run reads this regular file because of the text. NULL: never. */
	bool (*reads)(const char *text, const struct stat *file);
	const char *default_text;              /* default value; NULL: the field is 0 */
	const char *default_note;              /* default shown by help instead of default_text */
	void (*note)(char *note, size_t size); /* writes a computed default_note */
	const char *help; /* first sentence: its summary; if it ends in a colon, the words follow */
	const char *man;  /* further sentences for the man page; or NULL */
};

/* Contradiction between options. */
struct option_fault {
	const char *option;                           /* name; NULL: no option in particular */
	const struct measurement_config *measurement; /* owner of the value; NULL: the run */
	/* Section of the key, or the section that lacks it; NULL: none. */
	const struct config_named *named;
	char why[300];
};

struct option_owner {
	const struct option_row *rows; /* the last one has no name */
	size_t size;                   /* bytes of the struct */
	/* Owner of the struct that the rows fill; NULL: this one. */
	const struct option_owner *fills;
	bool of_measurement; /* rows may be set in a [measurement NAME] section */
	/* Word of sections [WORD NAME], each a struct config_named, whose only keys are the rows;
	 * NULL: the rows are options. */
	const char *section;
	/* Returns sub-owner i, or NULL after the last, for example one per sink type. If the owner
	 * is a section, their rows are keys of it too: config_named_block(). NULL: none. */
	const struct option_owner *(*part)(uint32_t i);
	/* Returns the data that packets need because of the values, as enum option_need. NULL: none.
	 * Only for owners of options. */
	uint32_t (*needs)(const struct config *config);
	/* Returns true, or false with *fault filled (option_fault()). NULL: no check. Called once
	 * with measurement == NULL, or for owners of measurements once for each. */
	bool (*check)(const struct config *config, const struct measurement_config *measurement,
		struct option_fault *fault);
};

#define OPTION_FIELD(type, member)                                                                 \
	.offset = offsetof(struct type, member), .size = sizeof(((struct type *)0)->member)

/*
 * Defines a function that returns values, such as OPTION_WORDS_OF(side_word, [SIDE_DST] = "dst").
 */
#define OPTION_WORDS_OF(function, ...)                                                             \
	static const char *function(uint32_t i)                                                    \
	{                                                                                          \
		static const char *const words[] = {__VA_ARGS__};                                  \
                                                                                                   \
		return i < sizeof(words) / sizeof(words[0]) ? words[i] : NULL;                     \
	}

/* Returns the struct of an owner; all 0 if the command does not have the owner. */
const void *config_block(const struct config *config, const struct option_owner *owner);
/* Returns the writable struct of an owner. Adds it if necessary. */
void *config_edit(struct config *config, const struct option_owner *owner);
const void *measurement_block(
	const struct measurement_config *measurement, const struct option_owner *owner);
void *measurement_edit(struct measurement_config *measurement, const struct option_owner *owner);

/* Declares NAME_owner, NAME_options(config) and edit_NAME_options(config). */
#define OPTION_OWNER(name)                                                                         \
	extern const struct option_owner name##_owner;                                             \
	__attribute__((unused)) static inline const struct name##_options *name##_options(         \
		const struct config *config)                                                       \
	{                                                                                          \
		return config_block(config, &name##_owner);                                        \
	}                                                                                          \
	__attribute__((unused)) static inline struct name##_options *edit_##name##_options(        \
		struct config *config)                                                             \
	{                                                                                          \
		return config_edit(config, &name##_owner);                                         \
	}

#define OPTION_OWNER_OF_MEASUREMENT(name)                                                          \
	extern const struct option_owner name##_owner;                                             \
	__attribute__((unused)) static inline const struct name##_options *name##_options(         \
		const struct measurement_config *measurement)                                      \
	{                                                                                          \
		return measurement_block(measurement, &name##_owner);                              \
	}                                                                                          \
	__attribute__((unused)) static inline struct name##_options *edit_##name##_options(        \
		struct measurement_config *measurement)                                            \
	{                                                                                          \
		return measurement_edit(measurement, &name##_owner);                               \
	}

/*
 * Returns true if the option was given, with a value other than off. measurement: as for
 * inapplicable().
 */
bool config_asks(const struct config *config, const struct measurement_config *measurement,
	const char *option);
/*
 * Returns what the option with `selects` that is in effect selects; NULL if there is none. *by: the
 * name of the option that decided, which has a value; NULL if it is only assumed.
 */
const struct option_selected *config_selected(const struct config *config, const char **by);
/* Returns the data that all destinations need, as enum option_need. */
uint32_t config_needs(const struct config *config);
/* Lists the options with `selects`: "--pcap FILE, --port NAME or --synthetic SPEC". */
void config_name_selectable(const struct config *config, char *text, size_t size);

/* Fills *fault and returns false. option: NULL if no option in particular is wrong. */
__attribute__((format(printf, 4, 5))) bool option_fault(struct option_fault *fault,
	const char *option, const struct measurement_config *measurement, const char *format, ...);

/* Helpers of read(). Return true, or false with an error text and the field unchanged. */
__attribute__((format(printf, 2, 3))) bool option_set_error(
	const struct option_text *text, const char *format, ...);
bool option_read_count(const struct option_text *text);
bool option_add_value(const struct option_text *text, uint64_t value); /* for OPTION_OWN_LIST */

/* Serves as inapplicable() of an option for files. output: the destination; NULL: none. */
const char *option_inapplicable_without_file(const char *output);

/* Serves as reads(). Returns true if the path names the file. */
bool option_names_file(const char *path, const struct stat *file);
