/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Handles /sketchtap/follow: returns closed epochs one by one, to sketchtap follow and sketchtap
 * top.
 *
 * A request for an epoch that is still open waits in a thread of the telemetry library, until the
 * epoch is closed or the request times out. A client that connects late first gets the stored
 * epochs (report/rows/recent.h). The reporter never waits: it increments a futex and wakes the
 * threads.
 */

#include <rte_telemetry.h>

#include "report/rows/recent.h"

/* Timeout of a request. */
#define FOLLOW_PATIENCE_NS INT64_C(1000000000)
/* Timeout of follow_stop(). */
#define FOLLOW_FAREWELL_NS INT64_C(1000000000)

/* Starts serving requests. Call before the first epoch is added to `recent`. */
void follow_start(struct recent *recent);
/* Wakes waiting requests. Call after an epoch was added. */
void follow_closed(void);
/* Marks the end of the run; clients receive it after the last epoch. */
void follow_end(void);
/*
 * Waits until all clients have received the end of the run and disconnected, at most
 * FOLLOW_FAREWELL_NS. No handler reads epochs after the return.
 */
void follow_stop(void);

/* Telemetry handler. Parameters: [EPOCH[,PART]] */
int follow_answer(const char *parameters, struct rte_tel_data *answer);
