/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What an option is. Rows of options stand in the files whose behaviour they set, and fill a small
 * struct of that file's own; an owner is such a struct with its rows. The command line, help, the
 * configuration file and the man page come from the owners that a command names.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct config;
struct config_named;
struct measurement_config;
struct option_row;

#define OPTION_LIST_MAX       256 /* of an option that is repeated */
#define OPTION_VALUES_MAX     16  /* of an option that takes a list of numbers */
#define OPTION_PROPERTIES_MAX 32
#define OPTION_CENTURY                                                                             \
	(UINT64_C(36525) * 24 * 3600 * 1000000000) /* ns: of a time without a limit */
#define OPTION_WHY_MAX 400 /* room for why a value is refused, with the value */

enum option_group {
	OPTION_GROUP_SOURCE,
	OPTION_GROUP_DESTINATION,
	OPTION_GROUP_MEASURE,
	OPTION_GROUP_TRY,
	OPTION_GROUP_REPORT,
	OPTION_GROUP_HOST,
	OPTION_GROUP_COUNT,
};

/* What an option's text is, and which C type it fills. */
enum option_type {
	OPTION_FLAG,       /* bool; no value on the command line, yes or no in the file */
	OPTION_STRING,     /* const char *, not empty */
	OPTION_LIST,       /* struct option_list, repeatable */
	OPTION_COUNT,      /* uint32_t or uint64_t, min to max, units of units_count() */
	OPTION_SIZE,       /* uint64_t bytes */
	OPTION_TIME,       /* uint64_t ns, min to max; 0 is allowed where zero is set */
	OPTION_FRACTION,   /* double, below 1; 0 and 1 are allowed where zero and one are set */
	OPTION_CHOICE,     /* an enum or uint32_t: i of word(i) */
	OPTION_WORDS,      /* uint32_t, a set: bit i where word(i) is in the list A,B,... */
	OPTION_COUNTS,     /* struct option_values, a list of what OPTION_COUNT takes */
	OPTION_OWN,        /* whatever read() fills */
	OPTION_OWN_LIST,   /* struct option_values; read() is given each part of the list A,B,... */
	OPTION_ACTION,     /* nothing: config_load() acts on it; command line only */
	OPTION_PROPERTIES, /* struct option_properties; keys NAME.PROPERTY of a section */
	OPTION_PARTS,      /* nothing: its value is that of one of its parts; repeatable */
};

struct option_list {
	uint32_t n;
	const char *texts[OPTION_LIST_MAX];
};

/* Each PROPERTY=VALUE, of a key NAME.PROPERTY. */
struct option_properties {
	uint32_t n;
	const char *texts[OPTION_PROPERTIES_MAX];
};

/* What an option with a list of numbers gave; none: it was not given. */
struct option_values {
	uint32_t n;
	uint64_t values[OPTION_VALUES_MAX];
};

/* A value that is to be read. */
struct option_text {
	const struct option_row *row;
	const char *text;
	void *field; /* of the row */
	char *why;   /* [OPTION_WHY_MAX]: why it is refused */
};

/* What there is for some destinations alone: bits. */
enum option_need {
	OPTION_NEED_IP_BYTES = 1 << 0, /* bytes of IP packets, beside those of frames */
};

struct option_row {
	const char *name;        /* without the dashes */
	const char *former;      /* name before it was renamed: accepted, not documented; or NULL */
	const char *placeholder; /* of the value; NULL where there is none */
	char letter;             /* what tcpdump calls it; 0: nothing */
	bool rare;               /* left out of --help, not of --help all */
	bool config_only;        /* documented as a key of the configuration file */
	bool hidden;             /* accepted, but not documented by this name */
	/* Option whose value may contain this one, and the prefix of this one there. ",after=": after a
	 * comma. "async:": after the value of the option. "queues=": instead of that value. Both options
	 * have the same owner, or none is of measurements. */
	const char *part_of, *part;
	enum option_group group;
	enum option_type type;
	const char *set; /* options of one set exclude each other; NULL: of none */
	size_t offset, size;
	uint64_t min, max;
	bool zero;              /* 0 is allowed although it lies below min */
	const char *zero_means; /* of a time, for who gave less than min; or NULL */
	bool one;               /* 1 is allowed, of a fraction */
	bool power_of_two;      /* OPTION_COUNT, OPTION_COUNTS */
	/* Words of OPTION_CHOICE and OPTION_WORDS, from 0; NULL behind the last. */
	const char *(*word)(uint32_t i);
	const char *(*alias)(uint32_t i);       /* a shorter one; NULL: none has one */
	const char *(*former_word)(uint32_t i); /* accepted, not documented; NULL: none */
	const char *(*suits)(uint32_t i);       /* when to choose it, for help; NULL: not said */
	bool (*read)(const struct option_text *text);
	/* Why it has no effect ("without --port"); NULL: it has one. Then it is refused.
	 * `measurement` is whose option it is; NULL: the run's. */
	const char *(*lacks)(
		const struct config *config, const struct measurement_config *measurement);
	/* Whether the run reads this regular file because of the text; NULL: it reads none. */
	bool (*reads)(const char *text, const struct stat *file);
	/* What packets must bring because of a text of an OPTION_LIST, or of a section's
	 * OPTION_STRING, enum option_need; NULL: nothing. */
	uint32_t (*needs)(const char *text);
	const char *default_text; /* applied before anything else; NULL: the field stays 0 */
	const char *default_note; /* what help says where default_text does not */
	void (*note)(char *note, size_t size); /* the same, where it is found out */
	const char *help; /* first sentence: its summary; if it ends in a colon, the words follow */
	const char *man;  /* further sentences for the man page; or NULL */
};

/* What options say together that cannot be. */
struct option_fault {
	const char *option;                           /* at fault; NULL: none that was given */
	const struct measurement_config *measurement; /* whose option it is; NULL: the run's */
	/* Whose key the option is, or what is at fault where it has no such key; NULL: none. */
	const struct config_named *named;
	char why[300];
};

struct option_owner {
	const struct option_row *rows; /* up to one without a name */
	size_t size;                   /* of the struct that they fill */
	/* Whose struct they fill; NULL: their own. */
	const struct option_owner *fills;
	bool of_measurement; /* rows may stand in a [measurement NAME] section */
	/* Rows are keys of sections [WORD NAME], each a struct config_named, and stand nowhere
	 * else; NULL: they are options. */
	const char *section;
	/* Owners that come with it, from 0, NULL behind the last: those of a registry. */
	const struct option_owner *(*part)(uint32_t i);
	/* Returns true, or false with *fault filled (option_fault()). NULL: nothing to check.
	 * `measurement` is NULL but for owners of measurements, which are asked once for each. */
	bool (*check)(const struct config *config, const struct measurement_config *measurement,
		struct option_fault *fault);
};

#define OPTION_FIELD(type, member)                                                                 \
	.offset = offsetof(struct type, member), .size = sizeof(((struct type *)0)->member)

/* A function of words: OPTION_WORDS_OF(side_word, [SIDE_DST] = "dst", [SIDE_SRC] = "src") */
#define OPTION_WORDS_OF(function, ...)                                                             \
	static const char *function(uint32_t i)                                                    \
	{                                                                                          \
		static const char *const words[] = {__VA_ARGS__};                                  \
                                                                                                   \
		return i < sizeof(words) / sizeof(words[0]) ? words[i] : NULL;                     \
	}

/* The struct of an owner in a configuration: zeros where the command has no such options. */
const void *config_block(const struct config *config, const struct option_owner *owner);
/* The same to be written; put there first where it is not. */
void *config_edit(struct config *config, const struct option_owner *owner);
const void *measurement_block(
	const struct measurement_config *measurement, const struct option_owner *owner);
void *measurement_edit(struct measurement_config *measurement, const struct option_owner *owner);

/* NAME_owner, NAME_options(config) and edit_NAME_options(config), of struct NAME_options. */
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

/* Whether somebody asked for it: a default did not, nor who turns it off. measurement: as
 * lacks(). */
bool config_asks(const struct config *config, const struct measurement_config *measurement,
	const char *option);
/* The option of a set that somebody asked for; NULL: none. */
const struct option_row *config_asks_of_set(const struct config *config, const char *set);
/* What the destinations need, together. */
uint32_t config_needs(const struct config *config);
/* The options of a set, as a sentence has them: "--pcap FILE, --port NAME or --synthetic SPEC". */
void config_name_set(const struct config *config, const char *set, char *text, size_t size);

/* Fills *fault and returns false. option: NULL where none that was given is at fault. */
__attribute__((format(printf, 4, 5))) bool option_fault(struct option_fault *fault,
	const char *option, const struct measurement_config *measurement, const char *format, ...);

/* For read(). Each returns false where the text is refused, with why, and leaves the field. */
__attribute__((format(printf, 2, 3))) bool option_refuse(
	const struct option_text *text, const char *format, ...);
bool option_read_count(const struct option_text *text);
bool option_add_value(const struct option_text *text, uint64_t value); /* OPTION_OWN_LIST */

/* For lacks() of an option that is for files: `output` is where it goes; NULL: nowhere. */
const char *option_lacks_file(const char *output);

/* For reads(): whether a path names the file. */
bool option_names_file(const char *path, const struct stat *file);
