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

/* How long one question is held back at most. */
#define FOLLOW_PATIENCE_NS INT64_C(1000000000)
/* How long follow_stop() stays for those who follow. */
#define FOLLOW_FAREWELL_NS INT64_C(1000000000)

/* Before the first epoch is taken. From now on it is answered. */
void follow_start(struct recent *recent);
/* An epoch was taken. */
void follow_closed(void);
/* The last epoch was taken: who has seen it is told that the run ended. */
void follow_end(void);
/*
 * After all that the run has to do: stays until all who follow were told of the end and have left,
 * or until they had their time. Nobody looks at the epochs any more then.
 */
void follow_stop(void);

/* A handler. Parameters: [EPOCH[,PART]] */
int follow_answer(const char *parameters, struct rte_tel_data *answer);
