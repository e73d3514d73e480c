/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Computes when a packet must be sent: by a packet rate, or by its timestamp. */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <rte_cycles.h>

#include "base/units.h"

enum pace {
	PACE_UNPACED,  /* maximum rate; the sender waits while a ring is full */
	PACE_RECORDED, /* rate of the timestamps; the sender drops packets if a ring is full */
	PACE_RATE,     /* fixed packet rate; the sender drops packets if a ring is full */
};

struct pacer {
	enum pace pace;
	uint64_t start_tsc; /* TSC at which the first packet is due */
	int64_t first_time; /* timestamp of the first packet, ns */
	__uint128_t step;   /* PACE_RATE: TSC cycles between packets, times 2^64 */
};

/* The first packet is due now. first_time: its timestamp, ns. rate: packets/s, for PACE_RATE. */
static inline void pacer_start(
	struct pacer *pacer, enum pace pace, uint64_t rate, int64_t first_time)
{
	*pacer = (struct pacer){.pace = pace, .first_time = first_time, .start_tsc = rte_rdtsc()};
	if (pace == PACE_RATE)
		pacer->step = ((__uint128_t)rte_get_tsc_hz() << 64) / rate;
}

/* TSC cycles from the first packet to packet `index`, counted from 0. */
static inline uint64_t pacer_due(const struct pacer *pacer, uint64_t index)
{
	return index * (uint64_t)(pacer->step >> 64) +
	       (uint64_t)((__uint128_t)index * (uint64_t)pacer->step >> 64);
}

/* TSC cycles until packet `index`, with timestamp `time`, is due. 0: now. */
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

/* If more than `most` packets are overdue, delays the schedule so that `most` are. */
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

/* Sleeps for half of `cycles`, at most 20 ms. Returns false if that would be below 0.5 ms. */
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
