/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Operations of a source that delivers keys or flow records instead of packets (rx/source.h). Its
 * design has its own loops for workers and receivers. create() sets the member `source` of each
 * worker and receiver, from which these loops read. Operations may be NULL, and the reporter calls
 * them, unless stated otherwise.
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

/* Losses of the interfaces of a source since the last call. */
struct source_losses {
	uint64_t missed, errors;
	uint32_t largest_frame; /* largest possible frame, bytes */
};

struct source_ops {
	/* Returns NULL on error, with one line in error[SOURCE_ERROR_MAX]. Must not be NULL. */
	void *(*create)(const struct source_params *params, char *error);
	void (*destroy)(void *source); /* must not be NULL */
	/* Drops input that does not match. Called before start(). NULL: workers filter packets. */
	void (*set_filter)(void *source, const struct filter *filter);
	/* Rules of --prefixes, if the source applies them itself. Set all four, or none. */
	size_t (*rules_bytes)(const struct prefix_list *rules);
	void *(*rules_create)(const struct prefix_list *rules, char *error); /* any thread */
	void (*rules_use)(void *source, uint64_t epoch, const void *rules);
	void (*rules_destroy)(void *rules);
	/* Start and stop the input. Workers still get the input from before stop(). */
	void (*start)(void *source);
	void (*stop)(void *source);
	/*
	 * Checks the state of the source. Called often. `now` is in ns of CLOCK_MONOTONIC, `epoch`
	 * is the number of the open epoch. Returns false to end the run, because the input has
	 * failed.
	 */
	bool (*look)(void *source, int64_t now, uint64_t epoch);
	uint64_t (*received)(
		const void *source); /* packets in the run, for --packets; any thread */
	struct source_losses (*losses)(void *source);
	/* Returns the number of received packets that no worker has got. Called after the run. */
	uint64_t (*difference)(const void *source);
	void (*recycle)(void *source, uint64_t epoch); /* clears the generation of a closed epoch */
	/* Called after the run. Logs errors. Returns false if there were any. */
	bool (*finish)(void *source);
	/*
	 * Returns true if the source can change to `config` during the run. Otherwise writes the
	 * reason to why[OPTION_WHY_MAX].
	 */
	bool (*takes)(const struct config *running, const struct config *config, char *why);
};

/* All members are NULL. For sources that deliver packets. */
extern const struct source_ops source_no_ops;

/* Options of all sources. */
extern const struct option_owner sources_owner;

/*
 * Opens the selected source of packets. Returns 0 on success. *source is then NULL if packets come
 * from live ports. Returns an exit status on error, with one line in error[SOURCE_ERROR_MAX].
 */
int sources_open(const struct config *config, struct source **source, char *error);

/* Returns true if a source is selected. Otherwise sets *fault to "nothing to VERB: ...". */
bool sources_check(const struct config *config, const char *verb, struct option_fault *fault);
