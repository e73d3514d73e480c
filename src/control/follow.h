/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * /sketchtap/follow: one closed epoch after the other, for sketchtap follow and sketchtap top. Who
 * asks for an epoch that is not closed yet is answered when it is, or told after a while that it is
 * not; he waits in a thread of the telemetry library. Who comes late finds the last epochs
 * (report/rows/recent.h). Who closes epochs waits for nobody: he changes a number, and wakes who
 * sleeps on it.
 */

#include <rte_telemetry.h>

#include "report/rows/recent.h"

/* Longest wait of a request. */
#define FOLLOW_PATIENCE_NS INT64_C(1000000000)
/* Longest wait of follow_stop() for clients. */
#define FOLLOW_FAREWELL_NS INT64_C(1000000000)

/* Before the first epoch is taken. From now on it is answered. */
void follow_start(struct recent *recent);
/* An epoch was taken. */
void follow_closed(void);
/* Marks the end of the run: clients that have received the last epoch are told so. */
void follow_end(void);
/*
 * Waits at the end of a run until all clients have received the end and disconnected, or the time
 * is over. No handler reads epochs afterwards.
 */
void follow_stop(void);

/* A handler. Parameters: [EPOCH[,PART]] */
int follow_answer(const char *parameters, struct rte_tel_data *answer);
