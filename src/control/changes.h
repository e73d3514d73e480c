/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Changes measurements while packets flow. A thread checks a request and allocates the new
 * measurements. The reporter installs them between two epochs, and the thread frees the old ones.
 * So the reporter and the workers never wait for a change. Lock order: changes.lock, then the lock
 * in publish(). settle() is called without a lock.
 */

#include <stdbool.h>
#include <stdint.h>

#include "parallel/run/run.h"
#include "report/sinks/writer.h"

#define CHANGE_ERROR_MAX 1024

/* First interval of a measurement with its present options. */
struct change_since {
	uint64_t epoch;
	bool at_least; /* the measurement may begin later */
	uint64_t from; /* first epoch, as numbered by struct epochs; UINT64_MAX: unknown */
};

struct changes_params {
	struct run *run;
	struct writer *writer;
	uint64_t first_epoch;
	/*
	 * publish: the reporter shows clients a new plan or new first intervals. settle: the thread
	 * waits until no thread reads an older plan.
	 */
	void (*publish)(const struct plan *plan, const struct change_since *since);
	void (*settle)(void);
};

struct changes;

/* Returns NULL on failure. */
struct changes *changes_start(const struct changes_params *params);
/* Refuses new requests and waits until the thread has ended. */
void changes_end(struct changes *changes);
void changes_free(struct changes *changes);

struct change_answer {
	uint64_t number;
	bool refused; /* the reason is in `error` */
	bool mistake;
	bool same;
	uint32_t measurements;
	uint64_t epoch; /* first interval with the change */
	bool at_least;  /* the change may begin later */
	char error[CHANGE_ERROR_MAX];
};

/*
 * Requests a change (`words` as for config_change()). Waits until it is installed, then a limited
 * time for its first interval. After CONTROL_ANSWER_S the answer is `refused`, but the change may
 * still take effect. The reporter must not call it.
 */
struct change_answer changes_ask(struct changes *changes, const char *words);

/* Starts a reload of the command line and the file. Only the reporter may call it. */
void changes_reload(struct changes *changes);
/* Returns false when the reload has ended, with its result. Only the reporter may call it. */
bool changes_reloading(struct changes *changes, struct change_answer *answer);
/* Waits a limited time for the first interval after a reload. The reporter must not call it. */
void changes_await_reload(struct changes *changes, struct change_answer *answer);

/* Installs a prepared change from interval `at_least` or later on. Only for the reporter. */
void changes_look(struct changes *changes, uint64_t at_least);
