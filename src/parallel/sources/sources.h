/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A source that delivers keys or flow records instead of packets (rx/source.h). create() sets the
 * member `source` of each worker and receiver. Only the reporter calls operations unless stated
 * otherwise. They may be NULL.
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
	struct worker *const *workers;
	uint32_t nb_workers;
	struct rx_core *rx_core; /* NULL: the design has no receiver */
};

/* Losses since the last call. */
struct source_losses {
	uint64_t missed, errors;
	uint32_t largest_frame; /* largest possible frame, bytes */
};

struct source_ops {
	/* Returns NULL on error, with one line in error[SOURCE_ERROR_MAX]. Must not be NULL. */
	void *(*create)(const struct source_params *params, char *error);
	void (*destroy)(void *source); /* must not be NULL */
	/* Called before start(). NULL: workers filter packets. */
	void (*set_filter)(void *source, const struct filter *filter);
	/* Set all four if the source applies --prefixes itself. */
	size_t (*rules_bytes)(const struct prefix_list *rules);
	void *(*rules_create)(const struct prefix_list *rules, char *error); /* any thread */
	void (*rules_use)(void *source, uint64_t epoch, const void *rules);
	void (*rules_destroy)(void *rules);
	/* After stop(), workers still read the earlier input. */
	void (*start)(void *source);
	void (*stop)(void *source);
	/*
	 * now: ns of CLOCK_MONOTONIC. epoch: the open one. Returns false if the input has failed.
	 */
	bool (*look)(void *source, int64_t now, uint64_t epoch);
	uint64_t (*received)(const void *source); /* packets in the run; any thread */
	struct source_losses (*losses)(void *source);
	/* Packets that no worker has got. Called after the run. */
	uint64_t (*difference)(const void *source);
	void (*recycle)(void *source, uint64_t epoch); /* clears the generation of a closed epoch */
	/* Called after the run. Returns false after it has logged errors. */
	bool (*finish)(void *source);
	/*
	 * Returns false if the source cannot change to `config`, with the reason in
	 * why[OPTION_WHY_MAX].
	 */
	bool (*takes)(const struct config *running, const struct config *config, char *why);
};

extern const struct source_ops source_no_ops;

extern const struct option_owner sources_owner;

/*
 * Sets *source to NULL on live ports. Returns an exit status, with one line in
 * error[SOURCE_ERROR_MAX].
 */
int sources_open(const struct config *config, struct source **source, char *error);

/* Returns false, with *fault set to "nothing to VERB: ...", if no source is selected. */
bool sources_check(const struct config *config, const char *verb, struct option_fault *fault);
