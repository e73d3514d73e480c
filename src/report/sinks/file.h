/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Files as a place of reports. All regular files of a run are one place, and complete only when all
 * have an epoch: until then a kill takes it from each of them. A pipe or a terminal is a place by
 * itself.
 */

#include <stdbool.h>
#include <stdint.h>

#include "report/files/output_file.h"
#include "report/formats/screen.h"
#include "report/sinks/sink_log.h"
#include "report/sinks/sink_queue.h"

struct file_destination {
	/* Of rows; NULL: the table for a person. Those of a format without a header are as the last
	 * epoch's measurements need them. */
	struct columns *columns;
	struct output_file file;
	struct delivery delivery;
	size_t queue; /* as of struct sink_queue_params */
	bool on_terminal;
	bool left;    /* by who read it */
	bool redrawn; /* there: each epoch over the last */
	struct screen screen;
};

/* The thread's own from its start to its end. */
struct sink_file {
	struct sink_log *sink_log;
	bool alone; /* the run has no other output than its one sink */
	struct file_destination **sinks;
	uint32_t nb_sinks;
	struct text text;
	uint64_t next_epoch;               /* the first that was not written */
	struct sink_log_reopened reopened; /* guarded by the outlet: read when that has reopened */
};

/* Of regular files; of one pipe, terminal or device. */
extern const struct sink_queue_ops file_ops, stream_ops;
