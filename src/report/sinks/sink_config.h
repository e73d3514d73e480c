/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The places that rows go to, as they were asked for: by an output option, which says where alone, or
 * by a section [export NAME] of the configuration file, which can say more. Who brings rows there is
 * the writer.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "report/files/rotation.h"
#include "report/rows/rows.h"
#include "report/sinks/sink.h"

struct writer_options {
	struct option_list rows[ROW_KINDS]; /* destinations, as they were given */
	enum output_format format;
	bool append, force;
	struct rotate_limits rotate;
};

OPTION_OWNER(writer)

/* The same struct: rows that there are of what exporters tell. */
extern const struct option_owner collected_writer_owner;
/* Of sections [export NAME], each a struct sink_options. */
extern const struct option_owner sink_owner;

struct requested_sink {
	enum row_kind kind;
	const char *text; /* as it was given */
	struct destination to;
	const char *name;  /* what it is called: a section's name, else to.name */
	const char *label; /* who asks: "--stats", "[export NAME]" */
	const struct sink_options *options;
	const struct config_named *section; /* NULL: an option */
};

/* Goes over all of them; 0 at first. */
struct sink_config_iter {
	enum row_kind kind;
	uint32_t i;
};

bool sink_config_next(const struct config *config, struct sink_config_iter *walk,
	struct requested_sink *requested);
/* Whether rows of a kind go anywhere. */
bool sink_config_any(const struct config *config, enum row_kind kind);

/* What is asked of a place that a URL names. */
struct sink_request sink_config_request(
	const struct config *config, const struct requested_sink *requested);
/* What rows look like where nothing is said. */
enum output_format sink_config_format(const struct config *config, enum row_kind kind);
/* On what the columns of rows depend. */
struct column_choice sink_config_columns(const struct config *config, bool named);

/* Whether all of these rows, if any are wanted, go to standard output. */
bool writer_to_stdout(const struct config *config, enum row_kind kind);
/* Whether heavy hitters are shown as a table. terminal: standard output is one. */
bool writer_shows_table(const struct config *config, bool terminal);
/* Whether any output goes elsewhere than to standard output. */
bool writer_names_files(const struct config *config);
