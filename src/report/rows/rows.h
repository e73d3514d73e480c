/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Kinds of rows of an epoch. A kind is a table of columns that any format (report/formats/format.h)
 * can print. report/sinks/output_file.h writes the text.
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
	const struct report_measurement *measurement; /* the first one if the kind is of_epoch */
	const void *item;                             /* item of struct output_items */
};

/* Type of a column value. */
enum column_type {
	COLUMN_U64,
	COLUMN_U32,
	COLUMN_U8,
	COLUMN_INT,
	COLUMN_BOOL,    /* 0 or 1 */
	COLUMN_TIME,    /* int64_t, ns since 1970-01-01 UTC; printed as text */
	COLUMN_RATIO,   /* double, 6 decimals */
	COLUMN_EXACT,   /* double, 15 digits */
	COLUMN_STRING,  /* const char *, printed as text */
	COLUMN_CHARS,   /* char[], printed as text */
	COLUMN_FOREIGN, /* char[] from the network; CSV marks formulas */
	/* Types for print(): */
	COLUMN_NUMBER,   /* number without decimals */
	COLUMN_FRACTION, /* number that may have decimals */
	COLUMN_TEXT,
	COLUMN_WORD, /* text that needs no quotes in any format */
};

enum column_position {
	COLUMN_OF_ITEM,
	COLUMN_OF_MEASUREMENT,
	COLUMN_OF_EPOCH,
};

enum column_when {
	COLUMN_ALWAYS,
	COLUMN_RECORDS, /* in runs with flow records, or with a key that has one of their columns */
	COLUMN_COLLECTED, /* in runs of collect */
	COLUMN_KEPT_UP,   /* in runs with --overload */
	COLUMN_DEEP,      /* in runs with --flow-detail */
	COLUMN_SINK,      /* in rows for destinations other than files */
	COLUMN_NO_FILE,   /* not in files */
	COLUMN_NAMED,     /* in formats that name columns, where a new column moves no other */
};

#define COLUMN_LABEL_ROOM 48

struct columns;

struct column {
	const char *name;
	enum column_type type;
	enum column_position place;
	size_t at;    /* offset of the value in the item */
	size_t known; /* offset of a bool: the value is known; 0: always known */
	enum column_when when;
	uint32_t index; /* argument of expand() for print() */
	/* Label in JSON, set by columns_of(): ,"name": */
	uint32_t label_len;
	char label[COLUMN_LABEL_ROOM]; /* always readable in full length */
	/* Prints a computed value, or nothing if unknown. */
	void (*print)(struct text *text, const struct column *column, const struct output_row *row);
	/* Adds columns in place of this one. */
	void (*expand)(struct columns *columns, const struct column *column);
};

/* Begins the definition of a print() of a column. */
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

/* Print a field of a key; return the type of its column. */
void print_key_text(struct text *text, const struct key_rule *rule, const struct key *key,
	enum key_field_id id);
enum column_type key_column_type(enum key_field_id id);

/*
 * Add the columns of a struct key in the item: those of every row, and those of requested fields.
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

/* Add and print the columns of a struct flow_figures (report/rows/flow_detail_columns.c). */
struct flow_figures;
void columns_add_deep(struct columns *columns, const struct column *column);
void deep_print(struct text *text, const struct column *column, const struct flow_figures *figures);
#define DEEP_COLUMNS(printer)                                                                      \
	{                                                                                          \
		.expand = columns_add_deep, .print = (printer), .when = COLUMN_DEEP                \
	}

/* Items of rows: n items of a size. */
struct output_items {
	const void *first;
	size_t n, size;
};

/* Defines items() of a kind: an array of the epoch, the measurement or the collector, if any. */
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
	const char *option; /* option of its files, for messages: "--stats", "--export queues" */
	const char *word;   /* name of the kind in rows and spools: "stats" */
	const char *what;   /* name of the kind in --export and in sections */
	bool collected;     /* only runs of collect have the option */
	/* The option that takes its destinations; row[1] ends the list. */
	struct option_row row[2];
	const struct column *columns;
	uint32_t nb_columns;
	const struct column_table *goflow2; /* columns with names of GoFlow2; NULL: none */
	bool of_epoch;                      /* rows per epoch, not per measurement */
	struct output_items (*items)(
		const struct report_epoch *epoch, const struct report_measurement *measurement);
};

#define OUTPUT_COLUMNS(table) .columns = (table), .nb_columns = sizeof(table) / sizeof((table)[0])

/* A kind with an option of its own. Further arguments are members of the row. */
#define OUTPUT_OPTION(kind, name_, what_, ...)                                                     \
	.option = "--" name_, .word = (what_), .what = (what_),                                    \
	.row = {{.name = (name_), .part = what_ "=", OUTPUT_DESTINATIONS(kind), __VA_ARGS__}}
/* A kind that is only a part of --export. */
#define OUTPUT_PART(kind, word_, what_, ...)                                                       \
	.option = "--export " what_, .word = (word_), .what = (what_),                             \
	.row = {{.name = (word_),                                                                  \
		.part = what_ "=",                                                                 \
		.hidden = true,                                                                    \
		.default_note = "not written",                                                     \
		OUTPUT_DESTINATIONS(kind),                                                         \
		__VA_ARGS__}}
/* The field is an option_list in an array indexed by kinds, at the start of the owner's struct. */
#define OUTPUT_DESTINATIONS(kind)                                                                  \
	.placeholder = "FILE|URL", .group = OPTION_GROUP_REPORT, .type = OPTION_LIST,              \
	.part_of = "export", .offset = ROWS_##kind * sizeof(struct option_list),                   \
	.size = sizeof(struct option_list)

#define OUTPUT_DECLARE(name, word) extern const struct output output_##word;
ROW_KIND_NAMES(OUTPUT_DECLARE)

extern const struct output *const outputs[ROW_KINDS];

/* Return the name of a kind: "heavy-hitters", "stats". */
const char *output_word(enum row_kind kind);
const char *output_word_of(const struct output *output);

/* Returns the number of rows of a kind in the epoch. */
uint64_t output_rows(const struct output *output, const struct report_epoch *epoch);

/*
 * Returns the memory of the epoch with the rows of all kinds, in bytes. Shared names and paths of
 * flows are not included.
 */
size_t output_bytes(const struct report_epoch *epoch);

/* Naming scheme of columns: words of column_names_word(). */
enum column_names {
	COLUMN_NAMES_OURS,
	COLUMN_NAMES_GOFLOW2, /* only for destinations other than files */
};

const char *column_names_word(uint32_t i); /* Returns NULL after the last. */

/* Properties of measurements that determine columns. */
struct column_choice {
	uint32_t key_fields; /* key fields, one bit each */
	bool records;        /* some measurements have flow records */
	bool collected;      /* the source is a collector */
	bool kept_up;        /* --overload is set */
	bool deep;           /* some measurements have --flow-detail */
	bool sink;           /* the destination is not a file */
	bool answer;         /* the rows are a reply */
	bool named;          /* the format names columns */
	enum column_names names;
};

/* Returns the choice of all columns that rows to a URL can have. */
struct column_choice column_choice_every(enum column_names names);

/* Returns the choice for rows of the epoch, in a format that does not name columns. */
struct column_choice column_choice_of(const struct report_epoch *epoch);

/* Columns of a kind for a choice. */
struct columns {
	const struct output *output;
	struct column_choice choice;
	bool varies;       /* some columns depend on the choice */
	uint32_t nb_fixed; /* leading columns that are always present */
	uint32_t n;
	struct column list[];
};

/*
 * Rebuilds the columns if the measurements of the epoch need others. Keeps them if out of memory.
 */
void columns_suit(struct columns **columns, const struct report_epoch *epoch);

/* Returns columns from malloc(), or NULL if out of memory. */
struct columns *columns_of(const struct output *output, const struct column_choice *choice);
/* For expand(): adds a column. At most COLUMNS_EXPANDED per expand(). */
#define COLUMNS_EXPANDED 32
void columns_add(struct columns *columns, const struct column *column);

/* Returns true if the output is a number, false if it is text. */
static inline bool column_is_number(const struct column *column)
{
	return column->type != COLUMN_TIME && column->type != COLUMN_STRING &&
	       column->type != COLUMN_CHARS && column->type != COLUMN_FOREIGN &&
	       column->type != COLUMN_TEXT && column->type != COLUMN_WORD;
}

/* Returns true if the output may need quotes. */
static inline bool column_may_need_quotes(const struct column *column)
{
	return column->type == COLUMN_STRING || column->type == COLUMN_CHARS ||
	       column->type == COLUMN_FOREIGN || column->type == COLUMN_TEXT;
}

/* Prints a value, equal in all formats, or nothing if unknown. */
void column_print(struct text *text, const struct column *column, const struct output_row *row);

/* Columns of control replies (reply_columns.c). A column without a name ends a table. */
extern const struct column reply_row_columns[];         /* struct report_row */
extern const struct column reply_measurement_columns[]; /* struct report_measurement */
extern const struct column reply_port_columns[];        /* struct report_port */
extern const struct column reply_load_columns[];        /* struct report_load */
extern const struct column reply_delivery_columns[];    /* struct report_delivery */

/* Returns the address of the column's value in the row. */
const void *column_at(const struct column *column, const struct output_row *row);
