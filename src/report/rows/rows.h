/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Kinds of rows of an epoch, each with a table of columns. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "report/rows/destination.h"
#include "report/rows/report.h"

struct output_row {
	const struct report_epoch *epoch;
	/* the first measurement if the rows are of the epoch */
	const struct report_measurement *measurement;
	const void *item;
};

enum column_type {
	COLUMN_U64,
	COLUMN_U32,
	COLUMN_U8,
	COLUMN_INT,
	COLUMN_BOOL,  /* 0 or 1 */
	COLUMN_TIME,  /* int64_t, ns since 1970-01-01 UTC; printed as date and time */
	COLUMN_RATIO, /* double, 6 decimals */
	COLUMN_EXACT, /* double, 15 digits */
	COLUMN_STRING,
	COLUMN_CHARS,
	/* char[] received from the network. CSV puts an apostrophe before a spreadsheet formula. */
	COLUMN_FOREIGN,
	/* The types below are printed by column.print(). */
	COLUMN_NUMBER,
	COLUMN_FRACTION,
	COLUMN_TEXT,
	COLUMN_WORD, /* needs no quotes or escapes in any format */
};

enum column_position {
	COLUMN_OF_ITEM,
	COLUMN_OF_MEASUREMENT,
	COLUMN_OF_EPOCH,
};

enum column_when {
	COLUMN_ALWAYS,
	COLUMN_RECORDS, /* in runs with flow records, or if a key has one of their fields */
	COLUMN_COLLECTED,
	COLUMN_KEPT_UP,
	COLUMN_DEEP,
	COLUMN_SINK, /* in rows for network destinations */
	COLUMN_NO_FILE,
	/* In formats that name the columns in each row: a new column does not move others. */
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
	uint32_t index; /* for print(); set by expand() */
	/* Text before the value in JSON: ,"name": */
	uint32_t label_len;
	/* json.c copies the whole array: a copy of constant length is faster. */
	char label[COLUMN_LABEL_ROOM];
	/*
	 * Prints a computed value, or nothing if it is unknown. NULL: the value is stored at `at`.
	 */
	void (*print)(struct text *text, const struct column *column, const struct output_row *row);
	/* Adds other columns instead of this one. May be NULL. */
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

void print_key_text(struct text *text, const struct key_rule *rule, const struct key *key,
	enum key_field_id id);
enum column_type key_column_type(enum key_field_id id);

void print_router(struct text *text, uint32_t exporter);

/* Prints nothing for 0: unknown. */
static inline void print_known(struct text *text, uint64_t value)
{
	if (value > 0)
		text_u64(text, value);
}

/* Add the key columns that every row has, and those of the optional key fields. */
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

struct flow_figures;
void columns_add_deep(struct columns *columns, const struct column *column);
void deep_print(struct text *text, const struct column *column, const struct flow_figures *figures);
#define DEEP_COLUMNS(printer)                                                                      \
	{                                                                                          \
		.expand = columns_add_deep, .print = (printer), .when = COLUMN_DEEP                \
	}

/* Array with an element for each row. */
struct output_items {
	const void *first;
	size_t n, size;
};

/* Defines items(), which returns the array `array` of `nb` elements in *of. `of` may be NULL. */
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

extern const struct column_table goflow2_flows;

struct output {
	/* name in messages, such as "--stats" or "--export queues" */
	const char *option;
	const char *word; /* name in rows and spools, such as "stats" */
	/* name in --export and in the configuration file */
	const char *what;
	bool collected; /* only sketchtap collect has the option */
	/* The option for the destinations. An empty row ends the array. */
	struct option_row row[2];
	const struct column *columns;
	uint32_t nb_columns;
	/* columns with the names of GoFlow2; NULL: not supported */
	const struct column_table *goflow2;
	/* false: rows of each measurement */
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
/* The options store their values in an array of struct option_list, one element for each kind. */
#define OUTPUT_DESTINATIONS(kind)                                                                  \
	.placeholder = "FILE|URL", .group = OPTION_GROUP_REPORT, .type = OPTION_LIST,              \
	.part_of = "export", .offset = ROWS_##kind * sizeof(struct option_list),                   \
	.size = sizeof(struct option_list)

#define OUTPUT_DECLARE(name, word) extern const struct output output_##word;
ROW_KIND_NAMES(OUTPUT_DECLARE)

extern const struct output *const outputs[ROW_KINDS];

/* Return the name of a kind in rows, such as "heavy-hitters". */
const char *output_word(enum row_kind kind);
const char *output_word_of(const struct output *output);

uint64_t output_rows(const struct output *output, const struct report_epoch *epoch);

/* Returns the bytes of memory of the epoch and its rows, without shared names and flow paths. */
size_t output_bytes(const struct report_epoch *epoch);

enum column_names {
	COLUMN_NAMES_OURS,
	COLUMN_NAMES_GOFLOW2, /* only for network destinations */
};

const char *column_names_word(uint32_t i); /* returns NULL for i after the last scheme */

struct column_choice {
	uint32_t key_fields; /* one bit for each key field */
	bool records;
	bool collected;
	bool kept_up;
	bool deep;
	bool sink;
	bool answer; /* the rows are a reply of the control socket */
	bool named;  /* the format names the columns in each row */
	enum column_names names;
};

/* Includes every column that rows to a URL can have. */
struct column_choice column_choice_every(enum column_names names);

/* For formats that do not name columns in each row. */
struct column_choice column_choice_of(const struct report_epoch *epoch);

struct columns {
	const struct output *output;
	struct column_choice choice;
	bool varies; /* some columns depend on the measurements */
	uint32_t nb_fixed;
	uint32_t n;
	struct column list[];
};

/* Rebuilds the columns if the epoch needs others. Keeps the old ones if out of memory. */
void columns_suit(struct columns **columns, const struct report_epoch *epoch);

/* Returns columns from malloc(), or NULL. */
struct columns *columns_of(const struct output *output, const struct column_choice *choice);
/* column.expand() may call it up to COLUMNS_EXPANDED times. */
#define COLUMNS_EXPANDED 32
void columns_add(struct columns *columns, const struct column *column);

static inline bool column_is_number(const struct column *column)
{
	return column->type != COLUMN_TIME && column->type != COLUMN_STRING &&
	       column->type != COLUMN_CHARS && column->type != COLUMN_FOREIGN &&
	       column->type != COLUMN_TEXT && column->type != COLUMN_WORD;
}

static inline bool column_may_need_quotes(const struct column *column)
{
	return column->type == COLUMN_STRING || column->type == COLUMN_CHARS ||
	       column->type == COLUMN_FOREIGN || column->type == COLUMN_TEXT;
}

/* Prints a value without quotes and escapes, or nothing if the value is unknown. */
void column_print(struct text *text, const struct column *column, const struct output_row *row);

/* Columns of replies on the control socket. A column without a name ends a table. */
extern const struct column reply_row_columns[];
extern const struct column reply_measurement_columns[];
extern const struct column reply_port_columns[];
extern const struct column reply_load_columns[];
extern const struct column reply_delivery_columns[];

const void *column_at(const struct column *column, const struct output_row *row);
