/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Tables of options. A row describes one option. An owner is a table of rows and the size of the
 * struct that their values fill. Each command lists its owners. The command line, the configuration
 * file, help, man page and completion are derived from the rows; there is no other list of options.
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
#define OPTION_WHY_MAX        400 /* bytes of an error text, with the value */
/* 100 years in ns: the maximum of times that need no limit. */
#define OPTION_CENTURY        (UINT64_C(36525) * 24 * 3600 * 1000000000)

enum option_group {
	OPTION_GROUP_SOURCE,
	OPTION_GROUP_DESTINATION,
	OPTION_GROUP_MEASURE,
	OPTION_GROUP_TRY,
	OPTION_GROUP_REPORT,
	OPTION_GROUP_HOST,
	OPTION_GROUP_COUNT,
};

/* Syntax of a value. The comments give the C type of its field. */
enum option_type {
	OPTION_FLAG,       /* bool; no value on the command line; "yes" or "no" in the file */
	OPTION_STRING,     /* const char *, not empty */
	OPTION_LIST,       /* struct option_list, repeatable */
	OPTION_COUNT,      /* uint32_t or uint64_t from min to max, read by units_count() */
	OPTION_SIZE,       /* uint64_t bytes */
	OPTION_TIME,       /* uint64_t ns from min to max; also 0 if row.zero is set */
	OPTION_FRACTION,   /* double between 0 and 1; also 0 if row.zero, 1 if row.one is set */
	OPTION_CHOICE,     /* enum or uint32_t: the index i of the value in word(i) */
	OPTION_WORDS,      /* uint32_t: bit i is set if word(i) is in the list A,B,... */
	OPTION_COUNTS,     /* struct option_values, a list of counts */
	OPTION_OWN,        /* filled by read() */
	OPTION_OWN_LIST,   /* struct option_values; read() is called for each element of A,B,... */
	OPTION_ACTION,     /* no field: config_load() handles it; command line only */
	OPTION_PROPERTIES, /* struct option_properties: keys NAME.PROPERTY of a section */
	OPTION_PARTS,      /* no field: its value KIND=VALUE sets the option with part "KIND=" */
};

struct option_list {
	uint32_t n;
	const char *texts[OPTION_LIST_MAX];
};

/* One text PROPERTY=VALUE for each key NAME.PROPERTY. */
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

/* Bits: per-packet data that only some exports need. */
enum option_need {
	OPTION_NEED_IP_BYTES = 1 << 0, /* bytes of IP packets, in addition to those of frames */
};

/* A thing that an option selects. First member of its struct, such as a packet source. */
struct option_selected {
	uint32_t is; /* its properties, such as bits of enum source_property */
};

struct option_row {
	const char *name;        /* without dashes */
	const char *former;      /* former name: accepted, but not documented; NULL: none */
	const char *placeholder; /* text for the value in help; NULL: no value */
	char letter;             /* short option of tcpdump; 0: none */
	bool rare;               /* only in --help all */
	bool config_only;        /* documented only as a key of the configuration file */
	bool hidden;             /* not documented as an option of its own */
	/*
	 * Name of an option whose value may contain that of this option after the text `part`.
	 * ",after=": --flow-detail rate,after=5. "async:": --design async:round-robin. "queues=":
	 * --export queues=FILE sets only this option. Both options have the same owner, or
	 * neither is of measurements.
	 */
	const char *part_of, *part;
	enum option_group group;
	enum option_type type;
	const char *set; /* name of a set of exclusive options; NULL: none */
	/*
	 * Thing that the option selects, such as a packet source; NULL: none. Without any such
	 * option, the `assumed` one is in effect. If two rows have the same name, such as --pcap,
	 * other options decide: the second source is in effect if one of them suits only that.
	 */
	const struct option_selected *selects;
	bool assumed;
	uint32_t not_for;    /* properties (option_selected.is) with which it has no effect */
	const char *instead; /* option to give in case of not_for; NULL: none */
	size_t offset, size;
	uint64_t min, max;
	bool zero;              /* 0 is allowed below min */
	const char *zero_means; /* meaning of 0, for an error message; NULL: not mentioned */
	bool one;               /* fraction: 1 is allowed */
	bool power_of_two;      /* OPTION_COUNT, OPTION_COUNTS */
	/* Returns value i of OPTION_CHOICE or OPTION_WORDS; NULL after the last. */
	const char *(*word)(uint32_t i);
	const char *(*alias)(uint32_t i); /* short name of the value; NULL: none */
	/* former name of the value: accepted, not documented; NULL: none */
	const char *(*former_word)(uint32_t i);
	const char *(*suits)(uint32_t i); /* when to choose the value, for help; NULL: none */
	bool (*read)(const struct option_text *text);
	/*
	 * Returns why the option has no effect, for example "without --port"; NULL: it has an
	 * effect. An option without effect is an error. measurement: the one with the option; NULL:
	 * the run.
	 */
	const char *(*inapplicable)(
		const struct config *config, const struct measurement_config *measurement);
	/* Returns true if this value makes the run read the regular file `file`. NULL: never. */
	bool (*reads)(const char *text, const struct stat *file);
	const char *default_text;              /* default value; NULL: the field is 0 */
	const char *default_note;              /* shown by help instead of default_text */
	void (*note)(char *note, size_t size); /* writes the default_note, if it must be computed */
	/*
	 * The first sentence is the summary in --help. If the text ends in a colon, the values of
	 * word() are appended.
	 */
	const char *help;
	const char *man; /* further sentences for the man page; or NULL */
};

/* An error in the combination of options. */
struct option_fault {
	const char *option; /* name of the wrong option; NULL: none in particular */
	/* measurement with the option; NULL: the run */
	const struct measurement_config *measurement;
	/* Section such as [export NAME] with the wrong or missing key; NULL: none. */
	const struct config_named *named;
	char why[300];
};

struct option_owner {
	const struct option_row *rows;    /* the last one has no name */
	size_t size;                      /* bytes of the struct */
	const struct option_owner *fills; /* rows fill the struct of this owner; NULL: their own */
	bool of_measurement;              /* rows may be set in a [measurement NAME] section */
	/*
	 * "export" for sections [export NAME]: the rows are the keys of such a section, and only of
	 * it. Each section is a struct config_named. NULL: the rows are options.
	 */
	const char *section;
	/*
	 * Returns sub-owner i, whose rows are added to those of this owner; NULL after the last.
	 * For example, each type of export has a sub-owner. NULL: no sub-owners.
	 */
	const struct option_owner *(*part)(uint32_t i);
	/*
	 * Returns the data that the values require of each packet, as bits of enum option_need.
	 * NULL: nothing. Not for owners of sections.
	 */
	uint32_t (*needs)(const struct config *config);
	/*
	 * Checks the values. Returns true, or the result of option_fault(). NULL: no check. Called
	 * once with measurement == NULL. If of_measurement is set, called once per measurement
	 * instead.
	 */
	bool (*check)(const struct config *config, const struct measurement_config *measurement,
		struct option_fault *fault);
};

#define OPTION_FIELD(type, member)                                                                 \
	.offset = offsetof(struct type, member), .size = sizeof(((struct type *)0)->member)

/*
 * Defines a function for option_row.word. Example: OPTION_WORDS_OF(side_word, [SIDE_DST] = "dst").
 */
#define OPTION_WORDS_OF(function, ...)                                                             \
	static const char *function(uint32_t i)                                                    \
	{                                                                                          \
		static const char *const words[] = {__VA_ARGS__};                                  \
                                                                                                   \
		return i < sizeof(words) / sizeof(words[0]) ? words[i] : NULL;                     \
	}

/* Returns the option struct of an owner. It is all 0 if the command does not have the owner. */
const void *config_block(const struct config *config, const struct option_owner *owner);
/* Returns the writable option struct of an owner. Adds the struct if it is missing. */
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
 * Returns true if the user gave the option with a value that enables it. The values "no" and 0
 * disable some options. measurement: the one with the option; NULL: the run.
 */
bool config_asks(const struct config *config, const struct measurement_config *measurement,
	const char *option);
/*
 * Returns what the options select, for example the packet source; NULL: nothing. *by: name of the
 * option that selected it; NULL: none, so `assumed` is in effect.
 */
const struct option_selected *config_selected(const struct config *config, const char **by);
/* Returns the data that all exports together need, as bits of enum option_need. */
uint32_t config_needs(const struct config *config);
/*
 * Writes the names of all options with `selects`: "--pcap FILE, --port NAME or --synthetic SPEC".
 */
void config_name_selectable(const struct config *config, char *text, size_t size);

/* Fills *fault and returns false. option: name of the wrong option; NULL: none in particular. */
__attribute__((format(printf, 4, 5))) bool option_fault(struct option_fault *fault,
	const char *option, const struct measurement_config *measurement, const char *format, ...);

/*
 * Helpers for option_row.read(). On success they return true. On error they write the error text,
 * leave the field unchanged and return false.
 */
__attribute__((format(printf, 2, 3))) bool option_set_error(
	const struct option_text *text, const char *format, ...);
bool option_read_count(const struct option_text *text);
bool option_add_value(const struct option_text *text, uint64_t value); /* for OPTION_OWN_LIST */

/* For option_row.inapplicable(). Returns NULL if `output` is a file; NULL or "-": why not. */
const char *option_inapplicable_without_file(const char *output);

/* For option_row.reads(). Returns true if the path names the file. */
bool option_names_file(const char *path, const struct stat *file);
