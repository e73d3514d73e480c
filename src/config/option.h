/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Options of the commands, as tables of rows. The command line, the configuration file, help, man
 * page and completion all follow from the rows.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct config;
struct config_named;
struct measurement_config;
struct option_row;

#define OPTION_LIST_MAX       256
#define OPTION_VALUES_MAX     16
#define OPTION_PROPERTIES_MAX 32
#define OPTION_WHY_MAX        400
/* 100 years in ns */
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

/* Syntax of a value, and C type of its field. */
enum option_type {
	OPTION_FLAG,     /* bool; "yes" or "no" in the file */
	OPTION_STRING,   /* const char *; not empty */
	OPTION_LIST,     /* struct option_list; repeatable */
	OPTION_COUNT,    /* uint32_t or uint64_t between min and max */
	OPTION_SIZE,     /* uint64_t, bytes */
	OPTION_TIME,     /* uint64_t, ns between min and max; also 0 if row.zero */
	OPTION_FRACTION, /* double between 0 and 1; also 0 if row.zero, and 1 if row.one */
	OPTION_CHOICE,   /* enum or uint32_t: i for the value word(i) */
	OPTION_WORDS,    /* uint32_t: sets bit i for each word(i) in a list A,B,... */
	OPTION_COUNTS,   /* struct option_values: a list of counts */
	OPTION_OWN,      /* read() fills the field */
	OPTION_OWN_LIST, /* struct option_values; read() gets each element of A,B,... */
	OPTION_ACTION,   /* only on the command line; config_load() executes it */
	OPTION_PROPERTIES,
	OPTION_PARTS, /* no field; a value KIND=VALUE sets the option with part "KIND=" */
};

struct option_list {
	uint32_t n;
	const char *texts[OPTION_LIST_MAX];
};

/* Texts PROPERTY=VALUE of the keys NAME.PROPERTY. */
struct option_properties {
	uint32_t n;
	const char *texts[OPTION_PROPERTIES_MAX];
};

struct option_values {
	uint32_t n;
	uint64_t values[OPTION_VALUES_MAX];
};

struct option_text {
	const struct option_row *row;
	const char *text;
	void *field;
	char *why; /* error text, OPTION_WHY_MAX bytes */
};

/* Bits: data of a packet that only some exports need. */
enum option_need {
	OPTION_NEED_IP_BYTES = 1 << 0,
};

/* A packet source, for example. First member of the struct of the source. */
struct option_selected {
	uint32_t is;
};

struct option_row {
	const char *name;   /* without dashes */
	const char *former; /* accepted, but not documented; NULL: none */
	const char *placeholder;
	char letter;
	bool rare;
	bool config_only; /* documented only as a key of the file */
	bool hidden;
	/*
	 * The value of option `part_of` may contain that of this option after the text `part`.
	 * ",after=": --flow-detail rate,after=5. "async:": --design async:round-robin.
	 * "queues=": --export queues=FILE, which sets only this option.
	 */
	const char *part_of, *part;
	enum option_group group;
	enum option_type type;
	const char *set;
	/*
	 * For example the packet source. Without such an option, the row with `assumed` selects. If
	 * two rows have the same name, such as --pcap, the second selects if another option suits
	 * only that.
	 */
	const struct option_selected *selects;
	bool assumed;
	uint32_t not_for; /* no effect with sources that have one of these bits */
	const char *instead;
	size_t offset, size;
	uint64_t min, max;
	bool zero;              /* allowed although below min */
	const char *zero_means; /* meaning of 0, for an error text */
	bool one;
	bool power_of_two;
	/* Value i of OPTION_CHOICE or OPTION_WORDS; NULL after the last. */
	const char *(*word)(uint32_t i);
	const char *(*alias)(uint32_t i); /* short name of value i; NULL: none */
	/* accepted, but not documented; NULL: none */
	const char *(*former_word)(uint32_t i);
	const char *(*suits)(uint32_t i); /* when to choose value i, for help; NULL: no advice */
	bool (*read)(const struct option_text *text);
	/*
	 * Returns why the option has no effect, such as "without --port", or NULL. measurement:
	 * NULL for options of the run.
	 */
	const char *(*inapplicable)(
		const struct config *config, const struct measurement_config *measurement);
	/* True if this value makes the run read the regular file. */
	bool (*reads)(const char *text, const struct stat *file);
	const char *default_text; /* NULL: the field is 0 */
	const char *default_note; /* replaces default_text in help */
	void (*note)(char *note, size_t size);
	/* The first sentence is the summary. A final colon lists the values of word(). */
	const char *help;
	const char *man;
};

struct option_fault {
	const char *option;
	/* NULL: option of the run */
	const struct measurement_config *measurement;
	/* section such as [export NAME]; NULL: none */
	const struct config_named *named;
	char why[300];
};

struct option_owner {
	const struct option_row *rows; /* no name in the last one */
	size_t size;
	const struct option_owner *fills; /* owner whose struct the rows fill; NULL: this one */
	bool of_measurement;
	/* "export" if the rows are keys of sections [export NAME]; NULL: the rows are options. */
	const char *section;
	uint32_t sections_max; /* maximum number of these sections */
	bool live;             /* these sections may change during a run */
	/* Returns sub-owner i, such as that of an export type; NULL after the last. */
	const struct option_owner *(*part)(uint32_t i);
	/* Returns bits of enum option_need. NULL: none. Unused for owners of sections. */
	uint32_t (*needs)(const struct config *config);
	/*
	 * Returns true, or the result of option_fault(). Called for each measurement if
	 * of_measurement; otherwise, called once with measurement NULL.
	 */
	bool (*check)(const struct config *config, const struct measurement_config *measurement,
		struct option_fault *fault);
};

#define OPTION_FIELD(type, member)                                                                 \
	.offset = offsetof(struct type, member), .size = sizeof(((struct type *)0)->member)

/* Defines a function for option_row.word: OPTION_WORDS_OF(side_word, [SIDE_DST] = "dst"). */
#define OPTION_WORDS_OF(function, ...)                                                             \
	static const char *function(uint32_t i)                                                    \
	{                                                                                          \
		static const char *const words[] = {__VA_ARGS__};                                  \
                                                                                                   \
		return i < sizeof(words) / sizeof(words[0]) ? words[i] : NULL;                     \
	}

/* Returns zeros if the command does not have the owner. */
const void *config_block(const struct config *config, const struct option_owner *owner);
/* Adds the struct if it is missing. */
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

/* Returns false also for "no" and 0. measurement: NULL for options of the run. */
bool config_asks(const struct config *config, const struct measurement_config *measurement,
	const char *option);
/*
 * Returns true if the option --export KIND or a section [export NAME] with `what = KIND` asks for
 * rows. `kind`: name of an option, such as "links".
 */
bool config_exports(const struct config *config, const char *kind);
/* Returns what the options select; NULL: nothing. *by: name of the option; NULL: `assumed`. */
const struct option_selected *config_selected(const struct config *config, const char **by);
uint32_t config_needs(const struct config *config);
/* Lists the options with `selects`: "--pcap FILE, --port NAME or --synthetic SPEC". */
void config_name_selectable(const struct config *config, char *text, size_t size);

/* Fills *fault and returns false. option: NULL for none in particular. */
__attribute__((format(printf, 4, 5))) bool option_fault(struct option_fault *fault,
	const char *option, const struct measurement_config *measurement, const char *format, ...);

/* Helpers for option_row.read(). On error, they return false and do not change the field. */
__attribute__((format(printf, 2, 3))) bool option_set_error(
	const struct option_text *text, const char *format, ...);
bool option_read_count(const struct option_text *text);
bool option_add_value(const struct option_text *text, uint64_t value); /* for OPTION_OWN_LIST */

/* For option_row.inapplicable(): returns NULL if `output` is a file, not NULL or "-". */
const char *option_inapplicable_without_file(const char *output);

bool option_names_file(const char *path, const struct stat *file);
