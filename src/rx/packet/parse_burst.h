/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* From a burst of mbufs to a burst of keys, and what became of the packets that gave none. */

#include <stdint.h>

#include <rte_mbuf.h>

#include "key/key_burst.h"
#include "rx/packet/packet_times.h"
#include "rx/packet/parse.h"

/* Counters of one worker in one epoch. Written only by this worker. */
struct parse_counts {
	uint64_t verdicts[PARSE_VERDICT_COUNT]; /* packets */
	uint64_t bytes;                         /* wire bytes of measured packets, without FCS */
	uint32_t largest_frame;                 /* bytes, of all packets */
	uint32_t smallest_frame;                /* bytes, of measured packets; UINT32_MAX: none */
};

static inline void parse_counts_reset(struct parse_counts *counts)
{
	*counts = (struct parse_counts){.smallest_frame = UINT32_MAX};
}

/* parse_captured() of a packet that may be a chain of segments. */
enum parse_verdict parse_mbuf(
	const struct rte_mbuf *mbuf, uint32_t wire_len, enum link_type link, struct parsed *parsed);

/* Contents of a burst: each level includes the previous ones. */
enum parse_level {
	PARSE_KEYS, /* keys and wire lengths */
	PARSE_DETAILS,
	PARSE_EXTRA,
	PARSE_TCP,
};

/*
 * Fills `out` (but not its hashes) with what the level says of the packets that have a key, in their
 * order, with overhead where it is asked for, which takes details; and adds all n <= BURST_MAX
 * packets to `counts`. A packet may be a chain of segments: it is as long as all of them, and
 * headers may lie across them.
 */

/*
 * Parses packets of a live port: Ethernet, with length pkt_len. `times` is used for details,
 * in_ports[RTE_MAX_ETHPORTS] (input of mbuf->port) for extra.
 */
void parse_burst_port(struct rte_mbuf *const *pkts, uint32_t n, struct key_burst *out,
	struct parse_counts *counts, enum parse_level level, bool overhead,
	const struct packet_times *times, const uint16_t *in_ports);

/* Packets of the feeder: link type, wire length, time and input port are in packet_meta(). */
void parse_burst_replay(struct rte_mbuf *const *pkts, uint32_t n, struct key_burst *out,
	struct parse_counts *counts, enum parse_level level, bool overhead);
