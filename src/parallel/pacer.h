/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* When a packet is due: by a rate, or by the packets' own time stamps. */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <rte_cycles.h>

enum pace {
	PACE_UNPACED,  /* as fast as everything can be measured; waits when a ring is full */
	PACE_RECORDED, /* by the packets' time stamps; drops when a ring is full */
	PACE_RATE,     /* so many packets per second; drops when a ring is full */
};

struct pacer {
	enum pace pace;
	uint64_t rate;      /* packets per second, for PACE_RATE */
	uint64_t start_tsc; /* when the first packet was sent */
	int64_t first_time; /* ns, of the first packet */
};

/* TSC cycles until packet number `index` (from 0) with time stamp `time` is due; 0: now. */
static inline uint64_t pacer_wait(const struct pacer *pacer, uint64_t index, int64_t time)
{
	uint64_t hz = rte_get_tsc_hz(), due = 0, elapsed;

	if (pacer->pace == PACE_RATE)
		due = (uint64_t)((__uint128_t)index * hz / pacer->rate);
	else if (pacer->pace == PACE_RECORDED && time > pacer->first_time)
		due = (uint64_t)((__uint128_t)(time - pacer->first_time) * hz / 1000000000);
	elapsed = rte_rdtsc() - pacer->start_tsc;
	return due > elapsed ? due - elapsed : 0;
}

/*
 * Sleeps through most of a long wait, at most 20 ms, so that the caller can look at its stop flag.
 * False where the wait is too short to sleep.
 */
static inline bool pacer_nap(uint64_t cycles)
{
	uint64_t hz = rte_get_tsc_hz();
	uint64_t us = cycles / (hz / 1000000) / 2;
	struct timespec nap = {.tv_nsec = (long)(us < 20000 ? us : 20000) * 1000};

	if (cycles < hz / 1000)
		return false;
	nanosleep(&nap, NULL);
	return true;
}
