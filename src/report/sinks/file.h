/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Files as a sink. All regular files of a run are one sink, and an epoch is complete only when all
 * of them have it: output_file_mark() makes it final. A pipe, a terminal or a device is a sink by
 * itself.
 */

#include <stdbool.h>
#include <stdint.h>

#include "report/files/output_file.h"
#include "report/formats/screen.h"
#include "report/sinks/sink_log.h"
#include "report/sinks/sink_queue.h"

struct file_destination {
	/*
	 * Columns of the rows; NULL: the table of heavy hitters. A format without a header gets the
	 * columns of each epoch's measurements.
	 */
	struct columns *columns;
	struct output_file file;
	struct delivery delivery;
	size_t queue; /* bytes; see struct sink_queue_params */
	bool on_terminal;
	bool left;    /* its reader closed it, and that was logged */
	bool redrawn; /* on the terminal: each epoch overwrites the last */
	struct screen screen;
};

/* Used only by the queue's thread while it runs. */
struct sink_file {
	struct sink_log *sink_log;
	bool alone; /* the run has no other output */
	struct file_destination **sinks;
	uint32_t nb_sinks;
	struct text text;
	uint64_t next_epoch; /* number of the first epoch that is not written yet */
	/* result; valid after sink_queue_reopening() returned false */
	struct sink_log_reopened reopened;
};

/* file_ops: regular files. stream_ops: one pipe, terminal or device. */
extern const struct sink_queue_ops file_ops, stream_ops;
