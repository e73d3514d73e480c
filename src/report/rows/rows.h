/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Kinds of rows of an epoch. A kind has a table of columns, which each format
 * (report/formats/format.h) can print.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "report/rows/destination.h"
#include "report/rows/report.h"

/* Source of a row. */
struct output_row {
	const struct report_epoch *epoch;
	/* measurement of the row; for a kind with of_epoch: the first measurement */
	const struct report_measurement *measurement;
	/* element of output_items that the row is about */
	const void *item;
};

/* Type of a column value. */
enum column_type {
	COLUMN_U64,
	COLUMN_U32,
	COLUMN_U8,
	COLUMN_INT,
	COLUMN_BOOL,   /* 0 or 1 */
	COLUMN_TIME,   /* int64_t, ns since 1970-01-01 UTC; printed as date and time */
	COLUMN_RATIO,  /* double, 6 decimals */
	COLUMN_EXACT,  /* double, 15 digits */
	COLUMN_STRING, /* const char * */
	COLUMN_CHARS,  /* char[], printed as text */
	/*
	 * char[] received from the network; CSV puts an apostrophe before text that a spreadsheet
	 * could run as a formula
	 */
	COLUMN_FOREIGN,
	/* Types for print(): */
	COLUMN_NUMBER,   /* number without decimals */
	COLUMN_FRACTION, /* number that may have a decimal point */
	COLUMN_TEXT,
	COLUMN_WORD, /* text that no format must quote or escape */
};

enum column_position {
	COLUMN_OF_ITEM,
	COLUMN_OF_MEASUREMENT,
	COLUMN_OF_EPOCH,
};

enum column_when {
	COLUMN_ALWAYS,
	COLUMN_RECORDS,   /* in runs with flow records, or if a key has one of their fields */
	COLUMN_COLLECTED, /* in runs of collect */
	COLUMN_KEPT_UP,   /* in runs with --overload */
	COLUMN_DEEP,      /* in runs with --flow-detail */
	COLUMN_SINK,      /* in rows for network destinations */
	COLUMN_NO_FILE,   /* not in files */
	/* in formats that name the columns of each row: there, a new column does not move others */
	COLUMN_NAMED,
};

#define COLUMN_LABEL_ROOM 48

struct columns;

struct column {
	const char *name;
	enum column_type type;
	enum column_position place;
	size_t at;    /* offset of the value in the struct that `place` selects */
	size_t known; /* offset of a bool that is true if the value is known; 0: always known */
	enum column_when when;
	uint32_t index; /* set by expand() for print(), such as a key field */
	/* Text before the value in JSON, set by columns_of(): ,"name": */
	uint32_t label_len;
	/* json.c copies the whole array, because a copy of constant length is faster */
	char label[COLUMN_LABEL_ROOM];
	/*
	 * Prints a value that is computed. Prints nothing if it is unknown. NULL: the value is at
	 * `at`.
	 */
	void (*print)(struct text *text, const struct column *column, const struct output_row *row);
	/* Adds other columns instead of this one. NULL: adds this one. */
	void (*expand)(struct columns *columns, const struct column *column);
};

/* Begins the definition of a function for column.print. */
#define COLUMN_PRINTER(name)                                                                       \
	static void name(__attribute__((unused)) struct text *text,                                \
		__attribute__((unused)) const struct column *column,                               \
		__attribute__((unused)) const struct output_row *row)

#define EPOCH_COLUMN(name, type, member)                                                           \
	{                                                                                          \
		name, type, COLUMN_OF_EPOCH, .at = offsetof(struct report_epoch, member)           \
	}
#define MEASUREMENT_COLUMN(name, type, member)                                                     \
	{                                                                                          \
		name, type, COLUMN_OF_MEASUREMENT,                                                 \
			.at = offsetof(struct report_measurement, member)                          \
	}
#define EPOCH_NUMBER     EPOCH_COLUMN("epoch", COLUMN_U64, number)
#define EPOCH_START      EPOCH_COLUMN("start", COLUMN_TIME, start)
#define EPOCH_END        EPOCH_COLUMN("end", COLUMN_TIME, end)
#define MEASUREMENT_NAME MEASUREMENT_COLUMN("measurement", COLUMN_STRING, name)

/*
 * Functions for a key field: print_key_text() prints it, key_column_type() returns the type of its
 * column.
 */
void print_key_text(struct text *text, const struct key_rule *rule, const struct key *key,
	enum key_field_id id);
enum column_type key_column_type(enum key_field_id id);

/*
 * Add the columns of a struct key. columns_add_key(): the columns of every row;
 * columns_add_asked_key(): those of the optional key fields.
 */
void columns_add_key(struct columns *columns, const struct column *column);
void columns_add_asked_key(struct columns *columns, const struct column *column);
#define KEY_COLUMNS(of, member)                                                                    \
	{                                                                                          \
		.expand = columns_add_key, .at = offsetof(struct of, member)                       \
	}
#define ASKED_KEY_COLUMNS(of, member)                                                              \
	{                                                                                          \
		.expand = columns_add_asked_key, .at = offsetof(struct of, member)                 \
	}

/* Functions for the columns of struct flow_figures (report/rows/flow_detail_columns.c). */
struct flow_figures;
void columns_add_deep(struct columns *columns, const struct column *column);
void deep_print(struct text *text, const struct column *column, const struct flow_figures *figures);
#define DEEP_COLUMNS(printer)                                                                      \
	{                                                                                          \
		.expand = columns_add_deep, .print = (printer), .when = COLUMN_DEEP                \
	}

/* Array of the elements that get a row. */
struct output_items {
	const void *first;
	size_t n, size;
};

/*
 * Defines items() of a kind of rows: the array `array` with `nb` elements of *of. `of` is the
 * epoch, the measurement or the collector, and may be NULL.
 */
#define ITEMS(of, array, nb)                                                                       \
	static struct output_items items(__attribute__((unused)) const struct report_epoch *epoch, \
		__attribute__((unused)) const struct report_measurement *measurement)              \
	{                                                                                          \
		return (of) != NULL ? (struct output_items){(of)->array, (of)->nb,                 \
					      sizeof((of)->array[0])}                              \
				    : (struct output_items){0};                                    \
	}

struct column_table {
	const struct column *columns;
	uint32_t n;
};

extern const struct column_table goflow2_flows; /* goflow2.c */

struct output {
	/* name in messages of the option for its files, such as "--stats" or "--export queues" */
	const char *option;
	const char *word; /* name of the kind in rows and spools, such as "stats" */
	/* name of the kind in --export and in sections of the configuration file */
	const char *what;
	bool collected; /* true if only sketchtap collect has the option */
	/* The option whose values are the destinations. An empty row ends the array. */
	struct option_row row[2];
	const struct column *columns;
	uint32_t nb_columns;
	/* columns with the names of GoFlow2; NULL: not supported */
	const struct column_table *goflow2;
	/* true: rows of the epoch; false: rows of each measurement */
	bool of_epoch;
	struct output_items (*items)(
		const struct report_epoch *epoch, const struct report_measurement *measurement);
};

#define OUTPUT_COLUMNS(table) .columns = (table), .nb_columns = sizeof(table) / sizeof((table)[0])

/* Members of a kind that has its own option. Further arguments are members of the option row. */
#define OUTPUT_OPTION(kind, name_, what_, ...)                                                     \
	.option = "--" name_, .word = (what_), .what = (what_),                                    \
	.row = {{.name = (name_), .part = what_ "=", OUTPUT_DESTINATIONS(kind), __VA_ARGS__}}
/* Members of a kind that has no option except --export. */
#define OUTPUT_PART(kind, word_, what_, ...)                                                       \
	.option = "--export " what_, .word = (word_), .what = (what_),                             \
	.row = {{.name = (word_),                                                                  \
		.part = what_ "=",                                                                 \
		.hidden = true,                                                                    \
		.default_note = "not written",                                                     \
		OUTPUT_DESTINATIONS(kind),                                                         \
		__VA_ARGS__}}
/*
 * The option stores its values in an option_list. The owner's struct begins with an array of them,
 * one for each kind.
 */
#define OUTPUT_DESTINATIONS(kind)                                                                  \
	.placeholder = "FILE|URL", .group = OPTION_GROUP_REPORT, .type = OPTION_LIST,              \
	.part_of = "export", .offset = ROWS_##kind * sizeof(struct option_list),                   \
	.size = sizeof(struct option_list)

#define OUTPUT_DECLARE(name, word) extern const struct output output_##word;
ROW_KIND_NAMES(OUTPUT_DECLARE)

extern const struct output *const outputs[ROW_KINDS];

/* Return the name of a kind in rows, such as "heavy-hitters" or "stats". */
const char *output_word(enum row_kind kind);
const char *output_word_of(const struct output *output);

uint64_t output_rows(const struct output *output, const struct report_epoch *epoch);

/*
 * Returns the bytes of memory that the epoch and all its rows take. Does not include names that
 * epochs share, and paths of flows.
 */
size_t output_bytes(const struct report_epoch *epoch);

/* Naming schemes of columns. column_names_word() returns their names. */
enum column_names {
	COLUMN_NAMES_OURS,
	COLUMN_NAMES_GOFLOW2, /* only for network destinations */
};

const char *column_names_word(uint32_t i); /* returns NULL for i after the last scheme */

/* Properties of the measurements, the source and the destination that determine the columns. */
struct column_choice {
	uint32_t key_fields; /* key fields, one bit each */
	bool records;        /* true if a measurement has flow records */
	bool collected;      /* the source is a collector */
	bool kept_up;        /* --overload is set */
	bool deep;           /* true if a measurement has --flow-detail */
	bool sink;           /* true if the destination is on the network */
	bool answer;         /* the rows are a reply */
	bool named;          /* the format names columns */
	enum column_names names;
};

/* Returns the choice that includes every column that rows to a URL can have. */
struct column_choice column_choice_every(enum column_names names);

/*
 * Returns the choice for rows of the epoch. It is for formats that do not name columns in each row.
 */
struct column_choice column_choice_of(const struct report_epoch *epoch);

/* Columns of a kind of rows for a choice. */
struct columns {
	const struct output *output;
	struct column_choice choice;
	bool varies;       /* true if some columns depend on the measurements */
	uint32_t nb_fixed; /* number of columns at the start of the list that every choice has */
	uint32_t n;
	struct column list[];
};

/*
 * Rebuilds the columns if the measurements of the epoch need others. If out of memory, keeps the
 * old columns.
 */
void columns_suit(struct columns **columns, const struct report_epoch *epoch);

/* Returns columns from malloc(). Returns NULL if out of memory. */
struct columns *columns_of(const struct output *output, const struct column_choice *choice);
/* Adds a column. column.expand() may call it up to COLUMNS_EXPANDED times. */
#define COLUMNS_EXPANDED 32
void columns_add(struct columns *columns, const struct column *column);

/* Returns true if the printed value is a number, false if it is text. */
static inline bool column_is_number(const struct column *column)
{
	return column->type != COLUMN_TIME && column->type != COLUMN_STRING &&
	       column->type != COLUMN_CHARS && column->type != COLUMN_FOREIGN &&
	       column->type != COLUMN_TEXT && column->type != COLUMN_WORD;
}

/* Returns true if the printed value may need quotes or escapes. */
static inline bool column_may_need_quotes(const struct column *column)
{
	return column->type == COLUMN_STRING || column->type == COLUMN_CHARS ||
	       column->type == COLUMN_FOREIGN || column->type == COLUMN_TEXT;
}

/*
 * Prints a value without quotes and escapes, which each format adds itself. Prints nothing if the
 * value is unknown.
 */
void column_print(struct text *text, const struct column *column, const struct output_row *row);

/*
 * Columns of replies on the control socket (reply_columns.c). A column without a name ends a table.
 */
extern const struct column reply_row_columns[];         /* struct report_row */
extern const struct column reply_measurement_columns[]; /* struct report_measurement */
extern const struct column reply_port_columns[];        /* struct report_port */
extern const struct column reply_load_columns[];        /* struct report_load */
extern const struct column reply_delivery_columns[];    /* struct report_delivery */

const void *column_at(const struct column *column, const struct output_row *row);
