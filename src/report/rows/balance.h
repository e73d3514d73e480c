/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Distribution of an epoch's packets over the workers. */

#include <stdbool.h>
#include <stdint.h>

#include "base/log_ratelimit.h"
#include "report/rows/report.h"

/* Returns the worker that received the most packets. If several did, returns the first of them. */
const struct report_load *balance_busiest(const struct report_epoch *epoch);

/*
 * Returns the packets of the busiest worker, divided by the mean of all workers. 1: all workers
 * received the same number. Number of workers: one worker received all packets. 0: there were no
 * packets.
 */
double balance_ratio(const struct report_epoch *epoch);

/* Returns the packets of the worker, divided by those of all workers: 0 to 1. */
double balance_share(const struct report_epoch *epoch, const struct report_load *load);

/*
 * Returns the share of the epoch's duration that the worker spent on packets. The rest are empty
 * polls. Negative: unknown.
 */
double balance_busy(const struct report_epoch *epoch, const struct report_load *load);

/*
 * Returns true if a warning about uneven load is due (base/log_ratelimit.h). It requires that the
 * busiest worker received more than 1.5 times the mean, and that packets were lost or this worker
 * had no idle time.
 */
bool balance_drowns(struct log_ratelimit *ratelimit, const struct report_epoch *epoch);
