/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Distribution of an epoch's packets over workers, with a warning. */

#include <stdbool.h>
#include <stdint.h>

#include "base/log_ratelimit.h"
#include "report/rows/report.h"

/* Returns the worker that received the most packets; the first one if several did. */
const struct report_load *balance_busiest(const struct report_epoch *epoch);

/*
 * Returns the packets of the busiest worker divided by the mean: 1: even; number of workers: all
 * packets on one; 0: no packets.
 */
double balance_ratio(const struct report_epoch *epoch);

/* Returns the worker's share of the packets of all workers, 0 to 1. */
double balance_share(const struct report_epoch *epoch, const struct report_load *load);

/* Returns the share of the epoch's time that the worker spent on packets; negative if unknown. */
double balance_busy(const struct report_epoch *epoch, const struct report_load *load);

/*
 * Returns true if the busiest worker receives more than 1.5 times the mean, packets are lost or it
 * has no idle time, and a warning is due (base/log_ratelimit.h).
 */
bool balance_drowns(struct log_ratelimit *ratelimit, const struct report_epoch *epoch);
