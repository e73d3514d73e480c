/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * How many packets ahead bytes are fetched, and on a replay the mbufs before them: there another
 * core has just written both of an mbuf's cache lines, while a device's driver read the first on
 * this one.
 */

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#define DATA_AHEAD 16
#define MBUF_AHEAD 24

/* Inlined by force: gcc 12 takes a call whose only effect is a prefetch to have none. */
static inline __attribute__((always_inline)) void prefetch_mbuf(struct rte_mbuf *mbuf)
{
	rte_prefetch0(mbuf);
	rte_prefetch0((const char *)mbuf + RTE_CACHE_LINE_MIN_SIZE);
}

static inline __attribute__((always_inline)) void prefetch_data(const struct rte_mbuf *mbuf)
{
	rte_prefetch0(rte_pktmbuf_mtod(mbuf, const void *));
}

/* What nobody is ahead of. */
static inline __attribute__((always_inline)) void prefetch_first_data(
	struct rte_mbuf *const *pkts, uint32_t n)
{
	for (uint32_t i = 0; i < n && i < DATA_AHEAD; i++)
		prefetch_data(pkts[i]);
}
