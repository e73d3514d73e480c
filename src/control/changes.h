/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Changes measurements while packets flow.
 *
 * A thread reads the request, checks it as at the start, and allocates the new measurements with
 * all their memory (struct measurements). The reporter installs them between two epochs. It passes
 * the old ones back to the thread, which frees them. So the reporter and the workers never wait for
 * a change. The thread prepares one change at a time, based on the last one that succeeded. A
 * refused change has no effect.
 *
 * Lock order: changes.lock, then the lock in the callback publish(). settle() is called without a
 * lock. The client waits for the thread, and then for the reporter, each with a timeout.
 * The thread waits for requests, and in settle(). The reporter waits for neither.
 */

#include <stdbool.h>
#include <stdint.h>

#include "parallel/run/run.h"
#include "report/sinks/writer.h"

#define CHANGE_ERROR_MAX 1024

/* First interval of a measurement with its present options. */
struct change_since {
	uint64_t epoch;
	bool at_least; /* `epoch` is only a lower bound */
	uint64_t from; /* first epoch, as numbered by struct epochs; UINT64_MAX: unknown */
};

struct changes_params {
	struct run *run;
	struct writer *writer;
	uint64_t first_epoch; /* number of the first epoch */
	/*
	 * publish: called by the reporter; publishes a new plan or new first intervals to clients.
	 * settle: called by the thread; waits until no thread reads an older plan.
	 */
	void (*publish)(const struct plan *plan, const struct change_since *since);
	void (*settle)(void);
};

struct changes;

/* Starts the thread. Returns NULL if that fails. */
struct changes *changes_start(const struct changes_params *params);
/* Refuses new requests and waits until the thread has ended. */
void changes_end(struct changes *changes);
void changes_free(struct changes *changes);

struct change_answer {
	uint64_t number; /* sequence number of the request */
	bool refused;    /* the reason is in `error` */
	bool mistake;    /* the request is malformed */
	bool same;       /* the request changes nothing */
	uint32_t measurements;
	uint64_t epoch; /* first interval with the change */
	bool at_least;  /* the change starts at `epoch` or later */
	char error[CHANGE_ERROR_MAX];
};

/*
 * Requests a change and waits. words: as for config_change(). Waits until the change is installed
 * or refused, then a limited time for its first interval. After CONTROL_ANSWER_S the answer is
 * `refused`, with the reason in `error`; the change may still take effect. Any thread except the
 * reporter.
 */
struct change_answer changes_ask(struct changes *changes, const char *words);

/* Starts a reload of the command line and the file. Called by the reporter. */
void changes_reload(struct changes *changes);
/*
 * Returns true while the reload is running; then false, with the result in *answer. Called by the
 * reporter.
 */
bool changes_reloading(struct changes *changes, struct change_answer *answer);
/* Waits a limited time for the first interval after a reload. Any thread except the reporter. */
void changes_await_reload(struct changes *changes, struct change_answer *answer);

/* Installs a prepared change, whose first interval is at_least or later. Called by the reporter. */
void changes_look(struct changes *changes, uint64_t at_least);
