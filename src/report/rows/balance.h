/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Distribution of an epoch's packets over workers, and its warning. */

#include <stdbool.h>
#include <stdint.h>

#include "base/log_ratelimit.h"
#include "report/rows/report.h"

/* The worker that got the most packets; the first of equals. */
const struct report_load *balance_busiest(const struct report_epoch *epoch);

/*
 * Returns the packets of the busiest worker divided by the mean: 1 is even, the number of workers
 * means all on one. 0 without packets.
 */
double balance_ratio(const struct report_epoch *epoch);

/* A worker's part of the packets that all received. */
double balance_share(const struct report_epoch *epoch, const struct report_load *load);

/* A worker's part of the epoch's time that it spent on packets; below 0 where that is not known. */
double balance_busy(const struct report_epoch *epoch, const struct report_load *load);

/*
 * Returns true if the busiest worker receives 1.5 times the mean or more, packets are lost or it
 * has no idle time, and a warning is due (base/log_ratelimit.h).
 */
bool balance_drowns(struct log_ratelimit *ratelimit, const struct report_epoch *epoch);
