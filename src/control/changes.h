/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Other measurements while packets flow. A thread of its own reads what is asked for, checks it as
 * at the start, and makes a set of measurements (parallel/run/measurements.h) with all its memory;
 * the reporter puts it in place where it hands generations back, and gives what is not used any
 * more to the thread, which frees it. So the reporter waits for nothing, and workers see nothing of
 * it.
 *
 * Changes are prepared one after the other, each on top of the last one that was taken. What cannot
 * be is refused, and then nothing has changed.
 *
 * No lock order: `publish` takes a lock of its own under that of the changes, and `settle` is called
 * without one. Whoever asks waits for the thread, then for the reporter, each with a limit. The
 * thread waits for a request, and in `settle`. The reporter waits for neither.
 */

#include <stdbool.h>
#include <stdint.h>

#include "parallel/run/run.h"
#include "report/sinks/writer.h"

#define CHANGE_ERROR_MAX 1024

/* From which epoch on a measurement is what the plan says. */
struct change_since {
	uint64_t epoch;
	bool at_least; /* waits for its epoch, which is not earlier than `from` */
	uint64_t from; /* first epoch; UINT64_MAX: not known yet */
};

struct changes_params {
	struct run *run;
	struct writer *writer;
	uint64_t first_epoch; /* the number that the first epoch got */
	/*
	 * Called by the reporter: publishes a new or confirmed plan. Called by the thread: waits
	 * until no thread reads an older one.
	 */
	void (*publish)(const struct plan *plan, const struct change_since *since);
	void (*settle)(void);
};

struct changes;

/* Starts the thread. Returns NULL on failure. */
struct changes *changes_start(const struct changes_params *params);
/* Refuses further requests and waits for the thread. */
void changes_end(struct changes *changes);
void changes_free(struct changes *changes);

struct change_answer {
	uint64_t number; /* number of the request, in order */
	bool refused;    /* error says why */
	bool mistake;    /* in the text */
	bool same;       /* nothing is to be changed */
	uint32_t measurements;
	uint64_t epoch; /* the first that has the change, or where that is not open yet, */
	bool at_least;  /* no epoch before it has */
	char error[CHANGE_ERROR_MAX];
};

/* Any thread but the reporter's: asks for a change, in the words of config_change(). Waits until it
 * is taken, and not for long until its epoch is open. After CONTROL_ANSWER_S the answer is
 * `refused`, and its error names the cause; the change may still come. */
struct change_answer changes_ask(struct changes *changes, const char *words);

/* The reporter: the command line and the file are to be read again. */
void changes_reload(struct changes *changes);
/* The reporter: false when that is done; then *answer says how. */
bool changes_reloading(struct changes *changes, struct change_answer *answer);
/* Any other thread: waits for the epoch of such an answer, but not for long. */
void changes_await_reload(struct changes *changes, struct change_answer *answer);

/* The reporter, often: takes what is ready. No epoch before `at_least` will have it. */
void changes_look(struct changes *changes, uint64_t at_least);
