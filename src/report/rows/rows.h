/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Kinds of rows that an epoch has. A kind is a table of columns, which say what stands where; a
 * format (report/formats/format.h) prints any of them. Where the text goes is output_file.h.
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
	const struct report_measurement *measurement; /* the first where the kind is of none */
	const void *item;                             /* item of struct output_items */
};

/* Type of a column value. */
enum column_type {
	COLUMN_U64,
	COLUMN_U32,
	COLUMN_U8,
	COLUMN_TIME,    /* int64_t, ns since 1970; printed as text */
	COLUMN_RATIO,   /* double, 6 decimals */
	COLUMN_EXACT,   /* double, as it was typed */
	COLUMN_STRING,  /* const char *; what is printed is text */
	COLUMN_CHARS,   /* char[]; the same */
	COLUMN_FOREIGN, /* char[] from the network; CSV marks what a spreadsheet would calculate */
	/* Output of print(): */
	COLUMN_NUMBER,   /* without decimals */
	COLUMN_FRACTION, /* a number that may have some */
	COLUMN_TEXT,
	COLUMN_WORD, /* text in which no format has anything to quote */
};

enum column_position {
	COLUMN_OF_ITEM,
	COLUMN_OF_MEASUREMENT,
	COLUMN_OF_EPOCH,
};

enum column_when {
	COLUMN_ALWAYS,
	COLUMN_RECORDS,   /* in runs with flow records, or with a key that has a column of theirs */
	COLUMN_COLLECTED, /* in runs of collect */
	COLUMN_KEPT_UP,   /* in runs with --overload */
	COLUMN_DEEP,      /* in runs with --flow-detail */
	COLUMN_SINK,      /* in rows that go elsewhere than to a file */
	COLUMN_NO_FILE,   /* in files and in replies */
	COLUMN_NAMED,     /* in formats whose rows name their columns: there is no place to keep */
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
	uint32_t index; /* what expand() gave print() to know */
	/* Its name as JSON has it behind another's value, which columns_of() prints: ,"name": */
	uint32_t label_len;
	char label[COLUMN_LABEL_ROOM]; /* all of it can be copied */
	/* Prints a computed value; nothing if it is unknown. */
	void (*print)(struct text *text, const struct column *column, const struct output_row *row);
	/* Stands for columns of another table, which this adds. */
	void (*expand)(struct columns *columns, const struct column *column);
};

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

/* A field of a key, and its column's type. */
void print_key_text(struct text *text, const struct key_rule *rule, const struct key *key,
	enum key_field_id id);
enum column_type key_column_type(enum key_field_id id);

/*
 * Add the columns of a struct key in the item: those of every row, and those that appear on
 * request.
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

/* Those of a struct flow_figures (report/rows/flow_detail_columns.c), which the getter finds; NULL:
 * of none. */
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

struct column_table {
	const struct column *columns;
	uint32_t n;
};

extern const struct column_table goflow2_flows; /* goflow2.c */

struct output {
	const char *option; /* option of its files: "--stats", "--export queues" */
	const char *word;   /* name of the kind in rows: "stats" */
	const struct column *columns;
	uint32_t nb_columns;
	const struct column_table *goflow2; /* columns with names of GoFlow2; NULL: none */
	bool of_epoch;                      /* and of no measurement */
	struct output_items (*items)(
		const struct report_epoch *epoch, const struct report_measurement *measurement);
};

#define OUTPUT_COLUMNS(table) .columns = (table), .nb_columns = sizeof(table) / sizeof((table)[0])

extern const struct output output_heavy_hitters; /* heavy_hitters.c: a row per reported key */
extern const struct output output_stats;         /* stats.c: a row per measurement */
extern const struct output output_queues;        /* queues.c: a row per worker */
extern const struct output output_rules;         /* prefixes.c: a row per rule of --prefixes */
extern const struct output output_flows;         /* flows.c: a row per record that ended */
extern const struct output output_forwarded;     /* forwarded.c: a row per direction */
/* overload.c: a row per change, and one per measurement */
extern const struct output output_overload;
extern const struct output output_exporters;  /* exporters.c: a row per exporter's domain */
extern const struct output output_paths;      /* paths.c: a row per flow */
extern const struct output output_deliveries; /* deliveries.c: a row per place and kind */
extern const struct output output_links;      /* links.c: a row per interface and direction */

extern const struct output *const outputs[ROW_KINDS]; /* all of them */

/* Return the name of a kind: "heavy-hitters", "stats". */
const char *output_word(enum row_kind kind);
const char *output_word_of(const struct output *output);

/* Returns the number of rows of a kind in the epoch. */
uint64_t output_rows(const struct output *output, const struct report_epoch *epoch);

/* The memory that the epoch takes, with the rows of all kinds. */
size_t output_bytes(const struct report_epoch *epoch);

/* Naming scheme of columns: words of column_names_word(). */
enum column_names {
	COLUMN_NAMES_OURS,
	COLUMN_NAMES_GOFLOW2, /* for records that do not go to a file */
};

const char *column_names_word(uint32_t i); /* Returns NULL after the last. */

/* Properties of measurements that determine columns. */
struct column_choice {
	uint32_t key_fields; /* key fields, one bit each */
	bool records;        /* some are of flow records */
	bool collected;      /* from exporters */
	bool kept_up;        /* packets may be skipped */
	bool deep;           /* some are of flows that have states */
	bool sink;           /* rows go elsewhere than to a file */
	bool answer;         /* rows are an answer */
	bool named;          /* the format's rows name their columns */
	enum column_names names;
};

/* With every column that rows to a URL can have. */
struct column_choice column_choice_every(enum column_names names);

/* For rows of the epoch, in a format that names no columns. */
struct column_choice column_choice_of(const struct report_epoch *epoch);

/* The columns that a kind has with them. */
struct columns {
	const struct output *output;
	struct column_choice choice;
	bool varies;       /* the kind has columns that depend on the choice, */
	uint32_t nb_fixed; /* number of columns that are always present */
	uint32_t n;
	struct column list[];
};

/* Rebuilds columns if other measurements need others; keeps them if out of memory. */
void columns_suit(struct columns **columns, const struct report_epoch *epoch);

/* From malloc(); NULL where memory is missing. */
struct columns *columns_of(const struct output *output, const struct column_choice *choice);
/* For expand(): at most COLUMNS_EXPANDED of them. */
#define COLUMNS_EXPANDED 32
void columns_add(struct columns *columns, const struct column *column);

/* Returns true if the output is a number; else it is text. */
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

/* Prints a value, equal in all formats; nothing if it is unknown. */
void column_print(struct text *text, const struct column *column, const struct output_row *row);

/* Where in the row the item's member is that the column says. */
const void *column_at(const struct column *column, const struct output_row *row);
