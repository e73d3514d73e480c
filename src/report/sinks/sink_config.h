/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Iterates over the requested sinks. A sink is requested by an output option, which has only a
 * destination, or by a section [export NAME] of the configuration file, which also has other keys.
 * writer.h creates the sinks.
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

/*
 * Owner of the output options that only sketchtap collect has. They are stored in the same struct.
 */
extern const struct option_owner collected_writer_owner;
/* Owner of the sections [export NAME]. Each section has a struct sink_options. */
extern const struct option_owner sink_owner;

struct requested_sink {
	enum row_kind kind;
	const char *text; /* destination as given */
	struct destination to;
	const char *name; /* name of the section; for an option, the name of the destination */
	/* option or section that requests the sink: "--stats", "[export NAME]" */
	const char *label;
	const struct sink_options *options;
	const struct config_named *section; /* NULL: from an option */
};

/* Iterator over the requested sinks. All zero: before the first. */
struct sink_config_iter {
	struct requested_sink requested; /* valid if sink_config_next() returned true */
	enum row_kind kind;
	uint32_t i;
};

bool sink_config_next(const struct config *config, struct sink_config_iter *each);
bool sink_config_any(const struct config *config, enum row_kind kind);

/* Returns the request for a network sink, as sink_create() needs it. */
struct sink_request sink_config_request(
	const struct config *config, const struct requested_sink *requested);
/*
 * Returns the format of rows whose destination names none: --format for heavy hitters, CSV for
 * others.
 */
enum output_format sink_config_format(const struct config *config, enum row_kind kind);
/* Returns the choice of columns for the configuration. named: true if the format names columns. */
struct column_choice sink_config_columns(const struct config *config, bool named);

/* Returns true if rows of this kind have no destination except standard output. */
bool writer_to_stdout(const struct config *config, enum row_kind kind);
/*
 * Returns true if heavy hitters are printed as a table. terminal: true if standard output is a
 * terminal.
 */
bool writer_shows_table(const struct config *config, bool terminal);
/* Returns true if an output has another destination than standard output. */
bool writer_names_files(const struct config *config);
