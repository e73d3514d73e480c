/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* When a packet is due: by a rate, or by the packets' own time stamps. */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <rte_cycles.h>

#include "base/units.h"

enum pace {
	PACE_UNPACED,  /* as fast as everything can be measured; waits when a ring is full */
	PACE_RECORDED, /* by the packets' time stamps; drops when a ring is full */
	PACE_RATE,     /* so many packets per second; drops when a ring is full */
};

struct pacer {
	enum pace pace;
	uint64_t start_tsc; /* when the first packet was sent */
	int64_t first_time; /* ns, of the first packet */
	/* TSC cycles from packet to packet, x 2^64, for PACE_RATE. */
	__uint128_t step;
};

/* rate: packets per second, for PACE_RATE. The first packet, of that time, is due now. */
static inline void pacer_start(
	struct pacer *pacer, enum pace pace, uint64_t rate, int64_t first_time)
{
	*pacer = (struct pacer){.pace = pace, .first_time = first_time, .start_tsc = rte_rdtsc()};
	if (pace == PACE_RATE)
		pacer->step = ((__uint128_t)rte_get_tsc_hz() << 64) / rate;
}

/* Cycles from the first packet to packet number `index` (from 0). */
static inline uint64_t pacer_due(const struct pacer *pacer, uint64_t index)
{
	return index * (uint64_t)(pacer->step >> 64) +
	       (uint64_t)((__uint128_t)index * (uint64_t)pacer->step >> 64);
}

/* TSC cycles until packet number `index` (from 0) with time stamp `time` is due; 0: now. */
static inline uint64_t pacer_wait(const struct pacer *pacer, uint64_t index, int64_t time)
{
	uint64_t due = 0, elapsed;

	if (pacer->pace == PACE_UNPACED)
		return 0;
	if (pacer->pace == PACE_RATE)
		due = pacer_due(pacer, index);
	else if (pacer->pace == PACE_RECORDED && time > pacer->first_time)
		due = (uint64_t)((__uint128_t)(time - pacer->first_time) * rte_get_tsc_hz() /
				 SECOND_NS);
	elapsed = rte_rdtsc() - pacer->start_tsc;
	return due > elapsed ? due - elapsed : 0;
}

/*
 * Where more than `most` packets are overdue at a rate, that many are: the rest of the schedule
 * moves by as much as is missing.
 */
static inline void pacer_forgive(struct pacer *pacer, uint64_t index, uint64_t most)
{
	uint64_t elapsed, due;

	if (pacer->pace != PACE_RATE)
		return;
	elapsed = rte_rdtsc() - pacer->start_tsc;
	due = pacer_due(pacer, index + most);
	if (elapsed > due)
		pacer->start_tsc += elapsed - due;
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
