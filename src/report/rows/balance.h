/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* How evenly an epoch's packets were spread over its workers, and when that is worth a word. */

#include <stdbool.h>
#include <stdint.h>

#include "base/log_ratelimit.h"
#include "report/rows/report.h"

/* The worker that got the most packets; the first of equals. */
const struct report_load *balance_busiest(const struct report_epoch *epoch);

/* Packets of the busiest worker over the mean of all: 1 is even, the number of workers is all on
 * one. 0 where no packet was received. */
double balance_ratio(const struct report_epoch *epoch);

/* A worker's part of the packets that all received. */
double balance_share(const struct report_epoch *epoch, const struct report_load *load);

/* A worker's part of the epoch's time that it spent on packets; below 0 where that is not known. */
double balance_busy(const struct report_epoch *epoch, const struct report_load *load);

/*
 * True where the busiest worker gets half as much again as the mean, and packets are lost or it has
 * no time left, and this is to be said (base/log_ratelimit.h).
 */
bool balance_drowns(struct log_ratelimit *watch, const struct report_epoch *epoch);
