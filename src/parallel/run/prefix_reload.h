/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Reloads --prefixes during a run. A thread builds the new table while workers use the old one. A
 * generation (parallel/epoch.h) gets it while no worker uses the generation.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "parallel/sources/sources.h"
#include "rx/filter/prefix_filter.h"

struct prefix_reload {
	const char *path;
	enum prefix_side side;
	uint32_t nb_workers;
	struct prefix_filter *of[2]; /* table of each generation */
	struct prefix_filter *next;  /* for the next generation that becomes empty */
	/* The operations rules_*() are NULL if only workers match the rules. */
	const struct source_ops *ops;
	void *source;
	void *of_source; /* rules of `next`, in the form of the source */

	/* Owned by the reporter. */
	bool loading; /* the thread was started and not yet joined */
	bool again;   /* another reload is requested */
	pthread_t thread;

	/* Owned by the thread until it sets `loaded`, with release. Then by the reporter. */
	_Atomic bool loaded;
	struct prefix_filter *fresh; /* new table; NULL: see error */
	void *of_source_fresh;       /* new rules for the source */
	char error[PREFIX_ERROR_MAX];
};

enum prefix_reload_result {
	PREFIX_RELOAD_NONE,
	PREFIX_RELOAD_REFUSED, /* the file has an error, and the old rules remain; see error */
	PREFIX_RELOAD_LOADED,  /* `next` is the new table */
};

/* Takes ownership of `rules`. Returns false on error, with one line in tables->error. */
bool prefix_reload_start(struct prefix_reload *tables, const char *path, enum prefix_side side,
	struct prefix_list *rules, uint32_t nb_workers, const struct source_ops *ops, void *source);
void prefix_reload_stop(struct prefix_reload *tables);

/*
 * Only the reporter calls this. Starts later if a generation still uses the table before the last.
 */
void prefix_reload_request(struct prefix_reload *tables);
/* Returns the result of a reload that has ended since the last call. Only for the reporter. */
enum prefix_reload_result prefix_reload_look(struct prefix_reload *tables);
bool prefix_reload_busy(const struct prefix_reload *tables);
/* Gives the newest table to the empty generation of `epoch`. Only for the reporter. */
void prefix_reload_renew(struct prefix_reload *tables, uint64_t epoch);
