/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Time of polls: UTC computed from the TSC, because the system clock may need a system call.
 * Synchronized with the system clock once a second. Not thread-safe.
 */

#include <stdint.h>
#include <time.h>

#include <rte_cycles.h>

#define PACKET_CLOCK_SECOND 1000000000

struct packet_clock {
	uint64_t hz;      /* TSC frequency; 0: not synchronized yet */
	uint64_t tsc;     /* TSC at the last reading of the system clock */
	int64_t utc;      /* last reading, ns since 1970-01-01 UTC */
	double ns_of_tsc; /* ns per cycle */
};

static inline void packet_clock_read(struct packet_clock *clock)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	clock->hz = rte_get_tsc_hz();
	clock->tsc = rte_rdtsc();
	clock->utc = (int64_t)now.tv_sec * PACKET_CLOCK_SECOND + now.tv_nsec;
	clock->ns_of_tsc = (double)PACKET_CLOCK_SECOND / (double)clock->hz;
}

static inline int64_t packet_clock_now(struct packet_clock *clock)
{
	if (clock->hz == 0 || rte_rdtsc() - clock->tsc > clock->hz)
		packet_clock_read(clock);
	return clock->utc + (int64_t)((double)(rte_rdtsc() - clock->tsc) * clock->ns_of_tsc);
}
