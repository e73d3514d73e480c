/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Keeps the last epochs of a run for the control socket (/sketchtap/follow) and for --metrics
 * (/api/v1/epochs). An entry has the contents of --stats and --export queues, the ports, and the
 * heaviest rows of each measurement. Entries do not change.
 *
 * One thread adds epochs, and any thread may read. No thread waits: a slot is one pointer to an
 * entry. A new epoch replaces the entry in its slot. The replaced entry is freed later, when an
 * epoch is added and no reader accesses a slot at that moment.
 *
 * This is safe because these accesses are sequentially consistent: The adding thread exchanges the
 * pointer, then loads `readers`. A reader increments `readers`, then loads the pointer. Therefore
 * the adding thread counts the reader, or the reader loads the new pointer.
 *
 * Memory: at most RECENT_EPOCHS entries. An entry takes about 1 KB, 100 bytes for each worker, and
 * for each measurement 1 KB plus 256 bytes for each row.
 */

#include <stdbool.h>
#include <stdint.h>

#include "report/rows/report.h"

#define RECENT_EPOCHS 300
#define RECENT_ROWS   10 /* rows per measurement */

struct recent;

/* Returns NULL if out of memory. */
struct recent *recent_create(void);
/* Frees all entries. Call it after all readers have ended. NULL is allowed. */
void recent_destroy(struct recent *recent);

/*
 * Adds a closed epoch, with or without packets. Call it only from the thread that ends epochs. If
 * out of memory, the epoch is not kept.
 */
void recent_take(struct recent *recent, const struct report_epoch *epoch);

/* Any thread may call the functions below. */

/*
 * Counts of the kept epochs: from `first` to `end` - 1. The count of an epoch is its position in
 * the run, from 0. Epochs without packets also count.
 */
struct recent_span {
	uint64_t first, end;
};

struct recent_span recent_span(const struct recent *recent);

/*
 * Returns the epoch with this count, with a new reference; release it with report_epoch_free().
 * Returns NULL if the epoch is not kept.
 */
struct report_epoch *recent_get(struct recent *recent, uint64_t count);

/*
 * Returns the oldest kept epoch whose number is at least `number`, with a new reference, and stores
 * its count. Returns NULL if there is none yet.
 */
struct report_epoch *recent_find(struct recent *recent, uint64_t number, uint64_t *count);
