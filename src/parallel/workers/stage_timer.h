/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The clock of a burst that is timed part by part. Who is timed takes a constant NULL where it is
 * not: then nothing of this is left.
 */

#include <stddef.h>
#include <stdint.h>

#include <rte_cycles.h>

#include "adapt/costs.h"

struct stage_timer {
	struct costs *costs;
	uint64_t last; /* TSC when the part before ended */
};

static inline void stage_timer_end(struct stage_timer *timer, uint64_t *part)
{
	uint64_t now = rte_rdtsc();

	*part += now - timer->last;
	timer->last = now;
}

/* What was done since the last one is of this part, a member of struct costs. */
#define STAGE_TIMER_END(timer, part)                                                               \
	do {                                                                                       \
		if ((timer) != NULL)                                                               \
			stage_timer_end((timer), &(timer)->costs->part);                           \
	} while (0)
