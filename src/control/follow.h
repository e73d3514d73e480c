/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Handles /sketchtap/follow, which returns closed epochs one by one. A request for an open epoch
 * waits in a thread of the telemetry library. The reporter never waits: it increments a futex.
 */

#include <rte_telemetry.h>

#include "report/rows/recent.h"

#define FOLLOW_PATIENCE_NS INT64_C(1000000000)
#define FOLLOW_FAREWELL_NS INT64_C(1000000000)

/* Call it before the first epoch is added to `recent`. */
void follow_start(struct recent *recent);
void follow_closed(void);
/* Clients receive the end of the run after the last epoch. */
void follow_end(void);
/*
 * Waits until all clients have received the end of the run and disconnected, at most
 * FOLLOW_FAREWELL_NS. Handlers read no epochs after it returns.
 */
void follow_stop(void);

int follow_answer(const char *parameters, struct rte_tel_data *answer);
