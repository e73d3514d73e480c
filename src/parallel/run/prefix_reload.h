/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Reload of prefix lists. A thread reads the file and builds a table next to those in use. A
 * generation gets it when it is clean, before the epoch after next. Each epoch therefore has one
 * table, and no worker waits or looks up twice.
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
	/* newest table, for generations that become clean from now on */
	struct prefix_filter *next;
	/* The source also matches the rules, if it has operations for them. */
	const struct source_ops *ops;
	void *source;
	void *of_source; /* rules of `next` for the source */

	/* Owned by the thread from its start until it sets `loaded`, with release. */
	bool loading, again; /* owned by the reporter */
	pthread_t thread;
	_Atomic bool loaded;
	struct prefix_filter *fresh; /* NULL: refused, see error */
	void *of_source_fresh;
	char error[PREFIX_ERROR_MAX];
};

enum prefix_reload_result {
	PREFIX_RELOAD_NONE,
	PREFIX_RELOAD_REFUSED, /* the rules are unchanged; see error */
	PREFIX_RELOAD_LOADED,  /* `next` is the new table */
};

/* Takes ownership of `rules`. Returns false with one line in tables->error. */
bool prefix_reload_start(struct prefix_reload *tables, const char *path, enum prefix_side side,
	struct prefix_list *rules, uint32_t nb_workers, const struct source_ops *ops, void *source);
void prefix_reload_stop(struct prefix_reload *tables);

/*
 * Called by the reporter. Starts to read the file again, or remembers the request while a reload
 * runs or a generation still uses the old table: there are at most two tables.
 */
void prefix_reload_request(struct prefix_reload *tables);
/* Called by the reporter. Returns the result of a reload that ended since the last call. */
enum prefix_reload_result prefix_reload_look(struct prefix_reload *tables);
/* Called by the reporter. Returns true if a reload is running or requested. */
bool prefix_reload_busy(const struct prefix_reload *tables);
/*
 * Called by the reporter. Gives the generation of `epoch`, which no worker owns, the newest table.
 */
void prefix_reload_renew(struct prefix_reload *tables, uint64_t epoch);
