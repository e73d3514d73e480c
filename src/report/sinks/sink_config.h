/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Iterates over the requested sinks. An output option or a section [export NAME] of the
 * configuration file requests a sink.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "report/sinks/rotation.h"
#include "report/rows/rows.h"
#include "report/sinks/sink.h"

struct writer_options {
	struct option_list rows[ROW_KINDS];
	enum output_format format;
	bool append, force;
	struct rotate_limits rotate;
};

OPTION_OWNER(writer)

/*
 * Owner of the output options that only sketchtap collect has. Their values are in struct
 * writer_options.
 */
extern const struct option_owner collected_writer_owner;
/* Owner of the sections [export NAME]. Each section has a struct sink_options. */
extern const struct option_owner sink_owner;

struct requested_sink {
	enum row_kind kind;
	const char *text;
	struct destination to;
	const char *name; /* section name, or the destination given by an option */
	/* "--stats" or "[export NAME]" */
	const char *label;
	const struct sink_options *options;
	const struct config_named *section; /* NULL: from an option */
};

/* Zero-initialize it before the first sink_config_next(). */
struct sink_config_iter {
	struct requested_sink requested;
	enum row_kind kind;
	uint32_t i;
};

bool sink_config_next(const struct config *config, struct sink_config_iter *each);
bool sink_config_any(const struct config *config, enum row_kind kind);

struct sink_request sink_config_request(
	const struct config *config, const struct requested_sink *requested);
/*
 * Returns the format for destinations that name none: --format for heavy hitters, CSV for other
 * rows.
 */
enum output_format sink_config_format(const struct config *config, enum row_kind kind);
/* named: the format has column names */
struct column_choice sink_config_columns(const struct config *config, bool named);

/* Returns true if rows of this kind have no destination except standard output. */
bool writer_to_stdout(const struct config *config, enum row_kind kind);
/* Returns true if heavy hitters are printed as a table. terminal: standard output is a terminal. */
bool writer_shows_table(const struct config *config, bool terminal);
/* Returns true if an output has another destination than standard output. */
bool writer_names_files(const struct config *config);
