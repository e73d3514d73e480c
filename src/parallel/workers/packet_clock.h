/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The time at which packets are polled: UTC, read from the TSC, as the system's clock may take a
 * system call. The clock is read again when a second has passed, so that the two do not drift
 * apart. Of one thread.
 */

#include <stdint.h>
#include <time.h>

#include <rte_cycles.h>

#define PACKET_CLOCK_SECOND 1000000000

struct packet_clock {
	uint64_t hz;      /* of the TSC; 0: the clock was not read yet */
	uint64_t tsc;     /* when the clock was read */
	int64_t utc;      /* what it said: ns since 1970-01-01 UTC */
	double ns_of_tsc; /* of one cycle */
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
