/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A place with a spool: its outlet's thread writes the rows of each report into the spool, and
 * another one sends from there, so that neither a receiver that is gone nor a run that is killed
 * loses any.
 */

#include "report/sinks/sink.h"
#include "report/sinks/sink_queue.h"
#include "report/sinks/spool.h"

struct sink_spool;

/*
 * Opens the spool that the options name and takes over what an earlier run left there: those rows
 * count as rows of the first interval. False with a phrase in why[SPOOL_WHY_MAX]; *damaged: not NULL
 * where something in it was, to be said.
 */
bool sink_spool_open(struct sink *sink, const char *url, const struct sink_options *options,
	char *why, struct spool_found *found);
void sink_spool_close(struct sink_spool *spool); /* NULL is allowed */

/* Of the struct sink_spool. */
extern const struct sink_queue_ops sink_spool_ops;

/* When the oldest that is in the spool starts. */
bool sink_spool_oldest(struct sink_spool *spool, int64_t *start);
