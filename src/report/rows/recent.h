/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The last epochs of a run, for whoever asks: the control socket (/sketchtap/follow) and --metrics
 * (/api/v1/epochs). An epoch is kept as what --stats and --export queues say of it, with its ports and the
 * heaviest rows of each measurement; nobody changes it any more.
 *
 * One thread takes epochs, any others read, and none ever waits for another: a slot is one pointer.
 * What a slot had before is freed at the first epoch that nobody is just looking at a slot at, so
 * that no reader is left with what is gone: of the writer's exchange of a pointer and look at
 * `readers`, and a reader's entry in `readers` and look at the pointer, one comes last and sees the
 * other (all are sequentially consistent).
 *
 * It takes no more than RECENT_EPOCHS times what such an epoch has: about 1 KB, 100 bytes for each
 * worker, and for each measurement 1 KB and 256 bytes for each of its rows.
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

/* The thread that closes epochs: one was closed, silent or not. An epoch without memory for it is
 * one that is gone. */
void recent_take(struct recent *recent, const struct report_epoch *epoch);

/* Any thread: */

/* Epochs are counted from 0, silent ones too. Those from first to before end are there. */
struct recent_span {
	uint64_t first, end;
};

struct recent_span recent_span(const struct recent *recent);

/* Shared: report_epoch_free() gives it back. NULL: it is not there, or not any more. */
struct report_epoch *recent_get(struct recent *recent, uint64_t count);

/*
 * The oldest that is there whose number is `number` or more, and its count; NULL: there is none
 * yet.
 */
struct report_epoch *recent_find(struct recent *recent, uint64_t number, uint64_t *count);
