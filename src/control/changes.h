/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Changes measurements while packets flow.
 *
 * A thread reads the request, checks it as at the start, and creates a set of measurements
 * (parallel/run/measurements.h) with all its memory. The reporter installs the set when it returns
 * generations, and passes the old set to the thread, which frees it. So the reporter never waits,
 * and workers notice nothing. Changes are prepared one at a time, each on top of the last accepted
 * one. A refused change has no effect.
 *
 * Locks: `publish` takes its own lock while the lock of the changes is held; `settle` is called
 * without a lock. The requesting thread waits for this thread, then for the reporter, each with a
 * timeout. This thread waits for requests, and in `settle`. The reporter waits for neither.
 */

#include <stdbool.h>
#include <stdint.h>

#include "parallel/run/run.h"
#include "report/sinks/writer.h"

#define CHANGE_ERROR_MAX 1024

/* Start of a measurement in its present form. */
struct change_since {
	uint64_t epoch;
	bool at_least; /* pending: starts at `from` or later */
	uint64_t from; /* first epoch; UINT64_MAX: unknown */
};

struct changes_params {
	struct run *run;
	struct writer *writer;
	uint64_t first_epoch; /* number of the first epoch */
	/*
	 * publish: called by the reporter; publishes a new or confirmed plan. settle: called by the
	 * thread; waits until no thread reads an older plan.
	 */
	void (*publish)(const struct plan *plan, const struct change_since *since);
	void (*settle)(void);
};

struct changes;

/* Starts the thread. Returns NULL if that fails. */
struct changes *changes_start(const struct changes_params *params);
/* Refuses further requests and waits for the thread. */
void changes_end(struct changes *changes);
void changes_free(struct changes *changes);

struct change_answer {
	uint64_t number; /* sequence number of the request */
	bool refused;    /* the reason is in `error` */
	bool mistake;    /* the request is malformed */
	bool same;       /* the request changes nothing */
	uint32_t measurements;
	uint64_t epoch; /* first epoch with the change */
	bool at_least;  /* the change starts at `epoch` or later */
	char error[CHANGE_ERROR_MAX];
};

/*
 * Requests a change, in the syntax of config_change(). Any thread except the reporter. Waits until
 * the change is accepted, then a limited time for its first epoch. After CONTROL_ANSWER_S the
 * answer is `refused` and `error` has the reason; the change may still take effect.
 */
struct change_answer changes_ask(struct changes *changes, const char *words);

/* Starts to reload the command line and the file. Called by the reporter. */
void changes_reload(struct changes *changes);
/*
 * Returns false, with the result in *answer, after the reload has finished. Called by the reporter.
 */
bool changes_reloading(struct changes *changes, struct change_answer *answer);
/* Waits a limited time for the first epoch of a reload. Any thread except the reporter. */
void changes_await_reload(struct changes *changes, struct change_answer *answer);

/*
 * Installs a prepared change; it starts at epoch `at_least` or later. Called often, by the
 * reporter.
 */
void changes_look(struct changes *changes, uint64_t at_least);
