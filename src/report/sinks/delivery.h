/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The account of rows of one kind that go to one place. Each row is in one column, and at any time
 *     rows = delivered + acknowledged + failed + unknown + dropped + what waits.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "report/rows/rows.h"

struct delivery {
	const char *name;            /* of the place, as it was given; outlives the account */
	const struct output *output; /* NULL: the table for a person */
	uint64_t spool_size;         /* bytes that its spool has at most; 0: it has none */
	/* By the thread that hands over. */
	uint64_t rows;
	struct report_delivery told; /* what had become of all rows at the last look */
	/* By any thread that has them; anybody reads. */
	_Atomic uint64_t dropped;      /* there was no room for them in the queue, or the spool */
	_Atomic uint64_t spooled;      /* of those that wait, in the spool now */
	_Atomic uint64_t spool_bytes;  /* that these take on the disk */
	_Atomic uint64_t delivered;    /* the kernel took them */
	_Atomic uint64_t acknowledged; /* whoever received them said so */
	_Atomic uint64_t failed;       /* they are not there */
	_Atomic uint64_t unknown;      /* nobody can say */
	_Atomic uint64_t retries, reconnects;
	_Atomic uint64_t bytes; /* delivered or acknowledged */
};

/* Whether the report says something that goes there. */
bool delivery_concerns(const struct delivery *delivery, const struct report_epoch *epoch);

/* The rows that the report has for it. */
uint64_t delivery_rows(const struct delivery *delivery, const struct report_epoch *epoch);

/* Adds to a count of the outlet's thread. */
static inline void delivery_count(_Atomic uint64_t *count, uint64_t rows)
{
	atomic_fetch_add_explicit(count, rows, memory_order_relaxed);
}

/* The rows of which nobody can say that they arrived, without those that were dropped. */
uint64_t delivery_lost(const struct delivery *delivery);

/* What became of all rows until now. By the thread that hands over. */
struct report_delivery delivery_totals(const struct delivery *delivery);

/* What became of rows since the last look. By the thread that hands over. */
struct report_delivery delivery_look(struct delivery *delivery);
