/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Handles /sketchtap/follow: returns closed epochs one by one, to sketchtap follow and sketchtap
 * top. A request for an open epoch waits in a thread of the telemetry library until the epoch is
 * closed or the request times out. Late clients receive the last epochs (report/rows/recent.h). The
 * reporter never waits: it changes a number and wakes the threads that sleep on it.
 */

#include <rte_telemetry.h>

#include "report/rows/recent.h"

/* Longest wait of a request. */
#define FOLLOW_PATIENCE_NS INT64_C(1000000000)
/* Longest wait of follow_stop() for clients. */
#define FOLLOW_FAREWELL_NS INT64_C(1000000000)

/* Starts serving requests. Call before the first epoch is added to `recent`. */
void follow_start(struct recent *recent);
/* Wakes waiting requests, after an epoch was added. */
void follow_closed(void);
/* Marks the end of the run; clients receive it after the last epoch. */
void follow_end(void);
/*
 * Waits until all clients have received the end and disconnected, at most FOLLOW_FAREWELL_NS. No
 * handler reads epochs afterwards.
 */
void follow_stop(void);

/* Telemetry handler. Parameters: [EPOCH[,PART]] */
int follow_answer(const char *parameters, struct rte_tel_data *answer);
