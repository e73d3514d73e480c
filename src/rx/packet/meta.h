/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Metadata of a replayed or generated packet, in an mbuf dynamic field. It includes the length on
 * the wire, because pkt_len and data_len have only the captured length. Written by the feeder
 * before the packet enters a ring. Read by the worker that dequeues the packet.
 */

#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "base/assertion.h"
#include "rx/packet/link_type.h"

struct packet_meta {
	int64_t time;      /* ns since 1970-01-01 UTC */
	uint32_t wire_len; /* bytes on the wire without FCS */
	uint32_t epoch;    /* epoch number, low 32 bits (parallel/epoch.h) */
	uint16_t link;     /* enum link_type */
	uint16_t in_port;  /* number of its capture file */
	uint32_t filter;   /* index of its filter program (rx/filter/filter.h) */
};

extern int packet_meta_offset; /* -1 until packet_meta_register() */

/* Registers the field, once per process. Returns 0, or -1 with rte_errno. */
int packet_meta_register(void);

static inline struct packet_meta *packet_meta(struct rte_mbuf *mbuf)
{
	ASSERT(packet_meta_offset, >=, 0); /* packet_meta_register() was called */
	return RTE_MBUF_DYNFIELD(mbuf, packet_meta_offset, struct packet_meta *);
}
