/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Counts of rows of one kind that go to one sink. Each row has one state, and at any time
 *     rows = delivered + acknowledged + failed + unknown + dropped + waiting.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "report/rows/rows.h"

struct delivery {
	const char *name;            /* name of the sink as configured; outlives this struct */
	const struct output *output; /* NULL: the table of heavy hitters */
	uint64_t spool_size;         /* limit in bytes; 0: no spool */
	/* Written by the pushing thread. */
	uint64_t rows;
	struct report_delivery told; /* totals at the last delivery_look() */
	/* Written and read by any thread. */
	_Atomic uint64_t dropped;      /* rows: the queue or the spool was full */
	_Atomic uint64_t spooled;      /* waiting rows that are in the spool */
	_Atomic uint64_t spool_bytes;  /* disk space of the spool */
	_Atomic uint64_t delivered;    /* rows that the kernel accepted */
	_Atomic uint64_t acknowledged; /* rows that the receiver confirmed */
	_Atomic uint64_t failed;       /* rows that the receiver does not have */
	_Atomic uint64_t unknown;      /* rows with a lost acknowledgement */
	_Atomic uint64_t retries, reconnects;
	_Atomic uint64_t bytes; /* bytes that were delivered or acknowledged */
};

/* Returns true if the report has rows of this kind. */
bool delivery_concerns(const struct delivery *delivery, const struct report_epoch *epoch);

/* Returns the number of rows of this kind in the report. */
uint64_t delivery_rows(const struct delivery *delivery, const struct report_epoch *epoch);

static inline void delivery_count(_Atomic uint64_t *count, uint64_t rows)
{
	atomic_fetch_add_explicit(count, rows, memory_order_relaxed);
}

/* Returns failed and unknown rows, without dropped ones. */
uint64_t delivery_lost(const struct delivery *delivery);

/* Returns the counts since the start. Called by the pushing thread. */
struct report_delivery delivery_totals(const struct delivery *delivery);

/* Returns the counts since the last call. Called by the pushing thread. */
struct report_delivery delivery_look(struct delivery *delivery);
