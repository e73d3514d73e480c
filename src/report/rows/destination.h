/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Kinds of rows, and the destinations to which they are written. A destination is FILE or
 * FORMAT:FILE; the file - is standard output.
 */

#include <stdbool.h>
#include <stdint.h>

/*
 * meson.build generates ROW_FORMATS(FORMAT), a list FORMAT(NAME, word) of the formats that print
 * rows. Each is declared as format_WORD in report/formats/format.h.
 */
#include "config/option.h"
#include "report/rows/format_names.h"
/* ROW_KIND_NAMES(KIND): a list KIND(NAME, word) of all kinds of rows */
#include "report/rows/kind_names.h"

#define FORMAT_ID(name, word) FORMAT_##name,
enum output_format {
	/* heavy hitters: a table if no file is named and standard output is a terminal; else CSV */
	FORMAT_AUTO,
	ROW_FORMATS(FORMAT_ID) FORMAT_TABLE, /* for the operator */
	FORMAT_COUNT,
};

/*
 * Kinds of rows: ROWS_NAME for each name in meson.build. struct output (report/rows/rows.h) defines
 * the contents of a kind.
 */
#define ROW_KIND_ID(name, word) ROWS_##name,
enum row_kind {
	ROW_KIND_NAMES(ROW_KIND_ID) ROW_KINDS,
};

/* FOLDER,SIZE */
struct spool_options {
	const char *text; /* NULL: none */
	uint32_t folder_len;
	uint64_t size;
};

/* Values of a section [export NAME]. 0 or NULL: the key is not set. */
struct sink_options {
	enum row_kind kind;
	const char *url; /* FILE, FORMAT:FILE or URL, as written by the user */
	enum output_format format;
	uint32_t names; /* enum column_names */
	uint64_t queue; /* bytes; 0: default */
	/* true: exit with status 1 if the destination is not reachable at the start */
	bool require;
	struct spool_options spool;
};

struct destination {
	enum output_format format; /* FORMAT_AUTO: the text names no format */
	const char *name;          /* the rest of the text */
};

struct destination destination_of(const char *text);
