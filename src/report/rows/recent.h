/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Keeps the last epochs of a run for the control socket (/sketchtap/follow) and --metrics
 * (/api/v1/epochs). An entry holds the contents of --stats and --export queues, the ports, and the
 * heaviest rows of each measurement. It is immutable.
 *
 * One thread adds epochs, any thread reads, and no thread waits: a slot is one pointer. The
 * replaced entry of a slot is freed when a later epoch is added while no reader accesses a slot.
 * This is safe because the accesses are sequentially consistent: the writer exchanges the pointer,
 * then reads `readers`; a reader increments `readers`, then reads the pointer. One of the two sees
 * the other.
 *
 * Memory: at most RECENT_EPOCHS entries of about 1 KB, plus 100 bytes per worker, plus 1 KB and 256
 * bytes per row for each measurement.
 */

#include <stdbool.h>
#include <stdint.h>

#include "report/rows/report.h"

#define RECENT_EPOCHS 300
#define RECENT_ROWS   10 /* rows per measurement */

struct recent;

/* Returns NULL if out of memory. */
struct recent *recent_create(void);
/* Call it after the last reader has ended. NULL is allowed. */
void recent_destroy(struct recent *recent);

/*
 * Adds a closed epoch, silent or not. Called by the thread that closes epochs. Without memory, the
 * epoch is skipped.
 */
void recent_take(struct recent *recent, const struct report_epoch *epoch);

/* Any thread may call the functions below. */

/* Counts of the kept epochs: first to end - 1. Epochs are counted from 0, including silent ones. */
struct recent_span {
	uint64_t first, end;
};

struct recent_span recent_span(const struct recent *recent);

/* Returns a shared epoch; release it with report_epoch_free(). NULL if it is not kept. */
struct report_epoch *recent_get(struct recent *recent, uint64_t count);

/*
 * Returns the oldest kept epoch with this number or a higher one, and its count. NULL if there is
 * none yet.
 */
struct report_epoch *recent_find(struct recent *recent, uint64_t number, uint64_t *count);
