/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Callers pass the constant NULL for bursts that are not timed, so the compiler removes the code.
 */

#include <stddef.h>
#include <stdint.h>

#include <rte_cycles.h>

#include "adapt/costs.h"

struct stage_timer {
	struct costs *costs;
	uint64_t last; /* TSC at the end of the previous part */
};

static inline void stage_timer_end(struct stage_timer *timer, uint64_t *part)
{
	uint64_t now = rte_rdtsc();

	*part += now - timer->last;
	timer->last = now;
}

#define STAGE_TIMER_END(timer, part)                                                               \
	do {                                                                                       \
		if ((timer) != NULL)                                                               \
			stage_timer_end((timer), &(timer)->costs->part);                           \
	} while (0)
