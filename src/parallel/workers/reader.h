/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * First half of counting: turns a burst of packets into a burst of keys (second half:
 * parallel/workers/count.h). The packets are not used afterwards. One instance per lcore.
 */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "key/key_burst.h"
#include "parallel/workers/count.h"
#include "rx/filter/filter.h"
#include "rx/packet/packet_times.h"
#include "rx/packet/parse_burst.h"

/*
 * Time of polls: UTC computed from the TSC, because the system clock may need a system call.
 * Synchronized with the system clock once a second. Not thread-safe.
 */

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

struct reader {
	/* Set before start. */
	bool replay;                         /* packets carry struct packet_meta */
	const struct filter *filter;         /* NULL: all packets are measured */
	uint16_t in_ports[RTE_MAX_ETHPORTS]; /* index of each device among the --port options */

	/* Owned by the lcore. */
	struct packet_clock clock;
	struct packet_times times;
};

/*
 * Fills `burst` with the keys of n <= BURST_MAX packets and the details that `counting` needs. Adds
 * filtered packets to *filtered. May reorder the packets.
 */
void reader_read(struct reader *reader, const struct counting *counting, struct rte_mbuf **pkts,
	uint32_t n, struct key_burst *burst, struct parse_counts *counts, uint64_t *filtered);

/* As reader_read(), with the time of each part. */
struct stage_timer;
void reader_read_timed(struct reader *reader, const struct counting *counting,
	struct rte_mbuf **pkts, uint32_t n, struct key_burst *burst, struct parse_counts *counts,
	uint64_t *filtered, struct stage_timer *timer);

/*
 * Counts packets that are not processed: adds their sizes to the frame sizes in `counts` and
 * returns their wire bytes.
 */
uint64_t reader_skip(const struct reader *reader, struct rte_mbuf *const *pkts, uint32_t n,
	struct parse_counts *counts);

/* As reader_read(), but keeps the packets and their order for further use. */
void reader_read_ahead(struct reader *reader, const struct counting *counting,
	struct rte_mbuf *const *pkts, uint32_t n, struct key_burst *burst,
	struct parse_counts *counts, uint64_t *filtered);

/* Returns the TSC of the arrival of a polled packet by its own timestamp, else `polled`. */
uint64_t reader_came(struct reader *reader, struct rte_mbuf *mbuf, uint64_t polled);
