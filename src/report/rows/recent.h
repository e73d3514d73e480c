/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Keeps the last epochs of a run for the control socket (/sketchtap/follow) and for --metrics
 * (/api/v1/epochs). One thread adds epochs, any thread reads, and no thread waits. A new epoch
 * replaces the pointer in its slot. The adding thread frees replaced entries when no reader
 * accesses a slot. These accesses are sequentially consistent: the adding thread exchanges the
 * pointer, then loads `readers`; a reader increments `readers`, then loads the pointer. Therefore
 * the adding thread counts the reader, or the reader loads the new pointer.
 */

#include <stdbool.h>
#include <stdint.h>

#include "report/rows/report.h"

#define RECENT_EPOCHS 300
#define RECENT_ROWS   10 /* rows per measurement */

struct recent;

struct recent *recent_create(void);
/* Call it after all readers have ended. NULL is allowed. */
void recent_destroy(struct recent *recent);

/* Only the thread that ends epochs may call it. Drops the epoch if out of memory. */
void recent_take(struct recent *recent, const struct report_epoch *epoch);

/* Any thread may call the functions below. */

/* The kept epochs have the positions `first` to `end` - 1 in the run. Positions start at 0. */
struct recent_span {
	uint64_t first, end;
};

struct recent_span recent_span(const struct recent *recent);

/* Returns the epoch at a position of the run, or NULL. Release it with report_epoch_free(). */
struct report_epoch *recent_get(struct recent *recent, uint64_t count);

/*
 * Returns the oldest kept epoch whose number is at least `number`, or NULL, and stores its
 * position. Release it with report_epoch_free().
 */
struct report_epoch *recent_find(struct recent *recent, uint64_t number, uint64_t *count);
