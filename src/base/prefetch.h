/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Prefetch distances, in packets. A worker always prefetches packet data, DATA_AHEAD packets ahead.
 * If another core fills the rings (replay of a capture), it also prefetches mbufs, MBUF_AHEAD
 * packets ahead, because that core has just written both cache lines of each mbuf. With a live
 * port, the driver has already read the first cache line on the worker's core.
 */

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#define DATA_AHEAD 16
#define MBUF_AHEAD 24

/*
 * Must be inlined: gcc 12 removes calls of functions that only prefetch, because they have no
 * result.
 */
static inline __attribute__((always_inline)) void prefetch_mbuf(struct rte_mbuf *mbuf)
{
	rte_prefetch0(mbuf);
	rte_prefetch0((const char *)mbuf + RTE_CACHE_LINE_MIN_SIZE);
}

static inline __attribute__((always_inline)) void prefetch_data(const struct rte_mbuf *mbuf)
{
	rte_prefetch0(rte_pktmbuf_mtod(mbuf, const void *));
}

/*
 * Prefetches the data of the first packets of a burst. Later packets are prefetched while earlier
 * ones are processed.
 */
static inline __attribute__((always_inline)) void prefetch_first_data(
	struct rte_mbuf *const *pkts, uint32_t n)
{
	for (uint32_t i = 0; i < n && i < DATA_AHEAD; i++)
		prefetch_data(pkts[i]);
}
