/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A network sink with a spool: the queue's thread writes the rows of each report into the spool,
 * and the sender thread sends them from there. Rows survive an unreachable receiver and a killed
 * run.
 */

#include "report/sinks/sink.h"
#include "report/sinks/sink_queue.h"
#include "report/sinks/spool.h"

struct sink_spool;

/*
 * Opens the spool of the options and takes over the rows of an earlier run, which count as rows of
 * the first interval. Returns false if it cannot be used, with a phrase in why[SPOOL_WHY_MAX].
 * *found: rows and damaged files of the earlier run.
 */
bool sink_spool_open(struct sink *sink, const char *url, const struct sink_options *options,
	char *why, struct spool_found *found);
void sink_spool_close(struct sink_spool *spool); /* NULL: nothing happens */

/* Called with the struct sink_spool. */
extern const struct sink_queue_ops sink_spool_ops;

/* Stores the start of the oldest segment, ns since 1970. Returns false if there is none. */
bool sink_spool_oldest(struct sink_spool *spool, int64_t *start);
