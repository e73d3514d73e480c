/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Prefetch distances, in packets. mbufs are prefetched only if another core has just written them
 * (replay of a capture). With a live port, the driver has read their first cache line on the
 * worker's core.
 */

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#define DATA_AHEAD 16
#define MBUF_AHEAD 24

/* Always inline: gcc 12 removes calls of functions that only prefetch. */
static inline __attribute__((always_inline)) void prefetch_mbuf(struct rte_mbuf *mbuf)
{
	rte_prefetch0(mbuf);
	rte_prefetch0((const char *)mbuf + RTE_CACHE_LINE_MIN_SIZE);
}

static inline __attribute__((always_inline)) void prefetch_data(const struct rte_mbuf *mbuf)
{
	rte_prefetch0(rte_pktmbuf_mtod(mbuf, const void *));
}

static inline __attribute__((always_inline)) void prefetch_mbufs(
	struct rte_mbuf *const *pkts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		prefetch_mbuf(pkts[i]);
}

static inline __attribute__((always_inline)) void prefetch_headers(
	struct rte_mbuf *const *pkts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		prefetch_data(pkts[i]);
}

/* For loops that prefetch the other packets at the distances above. */
static inline __attribute__((always_inline)) void prefetch_first_mbufs(
	struct rte_mbuf *const *pkts, uint32_t n)
{
	prefetch_mbufs(pkts, n < MBUF_AHEAD ? n : MBUF_AHEAD);
}

static inline __attribute__((always_inline)) void prefetch_first_headers(
	struct rte_mbuf *const *pkts, uint32_t n)
{
	prefetch_headers(pkts, n < DATA_AHEAD ? n : DATA_AHEAD);
}
