/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Reads the headers of a burst of packets and writes a burst of keys (parallel/workers/count.h). */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "base/prefetch.h"
#include "key/key_burst.h"
#include "parallel/workers/count.h"
#include "rx/filter/filter.h"
#include "rx/packet/packet_times.h"
#include "rx/packet/parse_burst.h"

/*
 * UTC from the TSC. Reads the system clock only once a second, because this may be a system call.
 */

#define PACKET_CLOCK_SECOND 1000000000

struct packet_clock {
	uint64_t hz;  /* 0: the system clock was not read yet */
	int64_t utc;  /* last reading of the system clock, ns since 1970-01-01 UTC */
	uint64_t tsc; /* TSC at that reading */
	double ns_of_tsc;
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

struct reader {
	/* Set before start. */
	bool replay;                         /* mbufs have a struct packet_meta */
	const struct filter *filter;         /* NULL: all packets are measured */
	uint16_t in_ports[RTE_MAX_ETHPORTS]; /* index of the --port option by DPDK port ID */

	struct packet_clock clock;
	struct packet_times times;
};

/* Prefetches what reader_read() reads. */
static inline void reader_fetch(
	const struct reader *reader, struct rte_mbuf *const *pkts, uint32_t n)
{
	if (reader->replay)
		prefetch_mbufs(pkts, n);
	else
		prefetch_headers(pkts, n);
}

/*
 * Fills `burst` from n <= BURST_MAX packets. Adds packets outside the filter to *filtered. May
 * reorder pkts[].
 */
void reader_read(struct reader *reader, const struct counting *counting, struct rte_mbuf **pkts,
	uint32_t n, struct key_burst *burst, struct parse_counts *counts, uint64_t *filtered);

struct stage_timer;
void reader_read_timed(struct reader *reader, const struct counting *counting,
	struct rte_mbuf **pkts, uint32_t n, struct key_burst *burst, struct parse_counts *counts,
	uint64_t *filtered, struct stage_timer *timer);

/* Returns the packets' bytes on the wire without parsing them. Updates counts->largest_frame. */
uint64_t reader_skip(const struct reader *reader, struct rte_mbuf *const *pkts, uint32_t n,
	struct parse_counts *counts);

/* Does not reorder pkts[]. */
void reader_read_ahead(struct reader *reader, const struct counting *counting,
	struct rte_mbuf *const *pkts, uint32_t n, struct key_burst *burst,
	struct parse_counts *counts, uint64_t *filtered);

/* Returns the TSC at the packet's timestamp, or `polled` if it has none. */
uint64_t reader_came(struct reader *reader, struct rte_mbuf *mbuf, uint64_t polled);
