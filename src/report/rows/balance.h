/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Distribution of an epoch's packets over the workers. */

#include <stdbool.h>
#include <stdint.h>

#include "base/log_ratelimit.h"
#include "report/rows/report.h"

/* Returns the first worker that received the most packets. */
const struct report_load *balance_busiest(const struct report_epoch *epoch);

/*
 * Returns the packets of the busiest worker, divided by the mean of all workers: from 1 to the
 * number of workers, or 0 without packets.
 */
double balance_ratio(const struct report_epoch *epoch);

double balance_share(const struct report_epoch *epoch, const struct report_load *load);

/* Returns the share of the epoch in which the worker processed packets. Negative: unknown. */
double balance_busy(const struct report_epoch *epoch, const struct report_load *load);

/*
 * Returns true at a limited rate if the busiest worker received more than 1.5 times the mean, and
 * packets were lost or this worker had no idle time.
 */
bool balance_drowns(struct log_ratelimit *ratelimit, const struct report_epoch *epoch);
