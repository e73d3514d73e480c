/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* A frame that was captured in part has one segment, with the captured length in data_len. */

#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>

static inline uint32_t mbuf_captured(const struct rte_mbuf *mbuf)
{
	return mbuf->nb_segs == 1 ? mbuf->data_len : mbuf->pkt_len;
}

static inline const void *mbuf_read(
	const struct rte_mbuf *mbuf, uint32_t offset, uint32_t length, void *copy)
{
	if ((uint64_t)offset + length > mbuf_captured(mbuf))
		return NULL;
	return rte_pktmbuf_read(mbuf, offset, length, copy);
}
