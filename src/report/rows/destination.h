/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Kinds of rows and their destinations: FILE or FORMAT:FILE; - is standard output. */

#include <stdbool.h>
#include <stdint.h>

/* Made by meson.build: ROW_FORMATS(FORMAT), the formats of rows, each FORMAT(NAME, word). Each is
 * format_WORD of report/formats/format.h. */
#include "config/option.h"
#include "report/rows/format_names.h"

#define FORMAT_ID(name, word) FORMAT_##name,
enum output_format {
	FORMAT_AUTO, /* table where standard output is a terminal and no file is named, else CSV */
	ROW_FORMATS(FORMAT_ID) FORMAT_TABLE, /* for a person */
	FORMAT_COUNT,
};

/* Kinds of rows; struct output of report/rows/rows.h defines their contents. */
enum row_kind {
	ROWS_HEAVY_HITTERS,
	ROWS_STATS,
	ROWS_QUEUES,
	ROWS_RULES,
	ROWS_FLOWS,
	ROWS_FORWARDED,
	ROWS_OVERLOAD,
	ROWS_DELIVERIES,
	ROWS_EXPORTERS,
	ROWS_PATHS,
	ROWS_LINKS,
	ROW_KINDS,
};

/* FOLDER,SIZE */
struct spool_options {
	const char *text; /* NULL: none */
	uint32_t folder_len;
	uint64_t size;
};

/* Options of a section [export NAME]; zeros: unset. */
struct sink_options {
	enum row_kind kind;
	const char *url; /* as given: FILE, FORMAT:FILE or URL */
	enum output_format format;
	uint32_t names;           /* enum column_names */
	uint64_t queue;           /* bytes; 0: as usual */
	bool require;             /* the destination must be reachable at the start */
	uint32_t rate;            /* datagrams a second; 0: as usual */
	uint32_t interface_index; /* index of the first interface; 0: 1 */
	struct spool_options spool;
	struct option_properties kafka;
};

struct destination {
	enum output_format format; /* FORMAT_AUTO: none was named */
	const char *name;          /* what follows */
};

struct destination destination_of(const char *text);
