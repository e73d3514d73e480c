/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A source of keys or records in a run (rx/source.h). It brings its own input: create() gives each
 * worker, and the receiver if the design has one, its `source` member, from which the loops of the
 * design read. The reporter calls the operations, which may be NULL, unless stated otherwise.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "rx/source.h"
#include "config/option.h"

struct filter;
struct plan;
struct prefix_list;
struct rx_core;
struct worker;

struct source_params {
	const struct config *config;
	const struct plan *plan;
	struct worker *const *workers; /* [nb_workers] */
	uint32_t nb_workers;
	struct rx_core *rx_core; /* NULL: the design has no receiver */
};

/* Losses since the last call. */
struct source_losses {
	uint64_t missed, errors;
	uint32_t largest_frame; /* largest possible frame, bytes */
};

struct source_ops {
	/* Never NULL. Returns NULL with one line in error[SOURCE_ERROR_MAX] on failure. */
	void *(*create)(const struct source_params *params, char *error);
	void (*destroy)(void *source); /* never NULL */
	/* Leaves out input that does not match. Before start(). NULL: workers filter packets. */
	void (*set_filter)(void *source, const struct filter *filter);
	/* Prefix rules that the source also matches before its input arrives; all of them or none. */
	size_t (*rules_bytes)(const struct prefix_list *rules);
	void *(*rules_create)(const struct prefix_list *rules, char *error); /* any thread */
	void (*rules_use)(void *source, uint64_t epoch, const void *rules);
	void (*rules_destroy)(void *rules);
	/* Start and stop bringing input. Input from before stop() is still delivered. */
	void (*start)(void *source);
	void (*stop)(void *source);
	/*
	 * Called often, with monotonic ns and the number of the open epoch. Returns false once if
	 * the input is gone: the run ends.
	 */
	bool (*look)(void *source, int64_t now, uint64_t epoch);
	uint64_t (*received)(const void *source); /* packets so far, for --packets; any thread */
	struct source_losses (*losses)(void *source);
	/* Returns the difference between received and taken packets, after all workers ended. */
	uint64_t (*difference)(const void *source);
	void (*recycle)(void *source, uint64_t epoch); /* clears the generation of a closed epoch */
	bool (*finish)(void *source); /* after the run; returns false after an error was logged */
	/* Returns false with a line in why[OPTION_WHY_MAX] if it cannot switch to `config`. */
	bool (*takes)(const struct config *running, const struct config *config, char *why);
};

extern const struct source_ops source_no_ops; /* all NULL: workers receive packets */

/* Table of packet sources; rx/meson.build has their names. */

/* Options of all sources. */
extern const struct option_owner sources_owner;

/*
 * Opens the selected source. Returns 0, with NULL in *source on live ports, or an exit status with
 * one line in error[SOURCE_ERROR_MAX].
 */
int sources_open(const struct config *config, struct source **source, char *error);

/* Returns true if a source is selected; otherwise false with the fault "nothing to VERB". */
bool sources_check(const struct config *config, const char *verb, struct option_fault *fault);
