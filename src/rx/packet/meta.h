/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * An mbuf dynamic field of replayed and generated packets. The feeder writes it before the packet
 * enters a ring. The worker that dequeues the packet reads it.
 */

#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "base/assertion.h"
#include "rx/packet/link_type.h"

struct packet_meta {
	int64_t time;      /* ns since 1970-01-01 UTC */
	uint32_t wire_len; /* bytes on the wire without FCS; pkt_len has the captured length */
	uint32_t epoch;    /* low 32 bits of the epoch number (parallel/epoch.h) */
	uint16_t link;
	uint16_t in_port; /* index of the capture file */
	uint32_t filter;
};

extern int packet_meta_offset; /* -1 until packet_meta_register() succeeds */

/* Once per process. Returns 0, or -1 with rte_errno. */
int packet_meta_register(void);

static inline struct packet_meta *packet_meta(struct rte_mbuf *mbuf)
{
	ASSERT(packet_meta_offset, >=, 0);
	return RTE_MBUF_DYNFIELD(mbuf, packet_meta_offset, struct packet_meta *);
}
