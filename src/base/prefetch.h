/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Prefetch distances in packets. Packet data is always prefetched. A replay also prefetches mbufs,
 * because another core has just written both of their cache lines. With a port, the driver has read
 * the first line on this core.
 */

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#define DATA_AHEAD 16
#define MBUF_AHEAD 24

/* Always inlined: gcc 12 assumes that a call whose only effect is a prefetch has none. */
static inline __attribute__((always_inline)) void prefetch_mbuf(struct rte_mbuf *mbuf)
{
	rte_prefetch0(mbuf);
	rte_prefetch0((const char *)mbuf + RTE_CACHE_LINE_MIN_SIZE);
}

static inline __attribute__((always_inline)) void prefetch_data(const struct rte_mbuf *mbuf)
{
	rte_prefetch0(rte_pktmbuf_mtod(mbuf, const void *));
}

/* Prefetches the first packets, which no earlier packet prefetched. */
static inline __attribute__((always_inline)) void prefetch_first_data(
	struct rte_mbuf *const *pkts, uint32_t n)
{
	for (uint32_t i = 0; i < n && i < DATA_AHEAD; i++)
		prefetch_data(pkts[i]);
}
