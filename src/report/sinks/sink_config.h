/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Requested sinks: from an output option, which has only a destination, or from a section [export
 * NAME] of the configuration file, which has more keys. writer.h creates them.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "report/sinks/rotation.h"
#include "report/rows/rows.h"
#include "report/sinks/sink.h"

struct writer_options {
	struct option_list rows[ROW_KINDS]; /* destinations as given */
	enum output_format format;
	bool append, force;
	struct rotate_limits rotate;
};

OPTION_OWNER(writer)

/* Same struct, for the options of sketchtap collect. */
extern const struct option_owner collected_writer_owner;
/* Owner of sections [export NAME], each with a struct sink_options. */
extern const struct option_owner sink_owner;

struct requested_sink {
	enum row_kind kind;
	const char *text; /* destination as given */
	struct destination to;
	const char *name;  /* name of the section, else to.name */
	const char *label; /* option or section: "--stats", "[export NAME]" */
	const struct sink_options *options;
	const struct config_named *section; /* NULL: from an option */
};

/* Iterator over all requested sinks; start with 0. */
struct sink_config_iter {
	struct requested_sink requested; /* valid after sink_config_next() returned true */
	enum row_kind kind;
	uint32_t i;
};

bool sink_config_next(const struct config *config, struct sink_config_iter *each);
/* Returns true if there is a sink for rows of the kind. */
bool sink_config_any(const struct config *config, enum row_kind kind);

/* Returns the request for a network sink. */
struct sink_request sink_config_request(
	const struct config *config, const struct requested_sink *requested);
/* Returns the default format: --format for heavy hitters, CSV for other rows. */
enum output_format sink_config_format(const struct config *config, enum row_kind kind);
/* Returns the choice of columns for the configuration. */
struct column_choice sink_config_columns(const struct config *config, bool named);

/* Returns true if no rows of the kind go elsewhere than to standard output. */
bool writer_to_stdout(const struct config *config, enum row_kind kind);
/* Returns true if heavy hitters are printed as a table. terminal: standard output is a terminal. */
bool writer_shows_table(const struct config *config, bool terminal);
/* Returns true if any output goes elsewhere than to standard output. */
bool writer_names_files(const struct config *config);
