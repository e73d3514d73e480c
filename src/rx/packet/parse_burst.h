/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* From a burst of mbufs to a burst of keys, and what became of the packets that gave none. */

#include <stdint.h>

#include <rte_mbuf.h>

#include "base/key_burst.h"
#include "rx/packet/packet_times.h"
#include "rx/packet/parse.h"

/* Of one worker and one epoch; that worker alone writes it. */
struct parse_counts {
	uint64_t verdicts[PARSE_VERDICT_COUNT]; /* packets */
	uint64_t bytes;                         /* of measured packets, on the wire without FCS */
	uint32_t largest_frame;                 /* bytes, of all packets */
	uint32_t smallest_frame;                /* bytes, of measured packets; UINT32_MAX: none */
};

static inline void parse_counts_reset(struct parse_counts *counts)
{
	*counts = (struct parse_counts){.smallest_frame = UINT32_MAX};
}

/* parse_packet() of a packet that may be a chain of segments. */
enum parse_verdict parse_mbuf(
	const struct rte_mbuf *mbuf, enum link_type link, struct parsed *parsed);

/*
 * Fills `out` (but not its hashes, nor its details or extra) with the keys and wire lengths of the
 * packets that have a key, in their order, and adds all n <= BURST_MAX packets to `counts`. A
 * packet may be a chain of segments: it is as long as all of them, and headers may lie across them.
 */

/* Packets of a live port: Ethernet, and as long as pkt_len says. */
void parse_burst_port(struct rte_mbuf *const *pkts, uint32_t n, struct key_burst *out,
	struct parse_counts *counts);

/* Packets of the feeder: link type and wire length are in packet_meta(). */
void parse_burst_replay(struct rte_mbuf *const *pkts, uint32_t n, struct key_burst *out,
	struct parse_counts *counts);

/* The same, with details. */
void parse_burst_port_details(struct rte_mbuf *const *pkts, uint32_t n, struct key_burst *out,
	struct parse_counts *counts, const struct packet_times *times);

/* The same, with details. Times are those of packet_meta(). */
void parse_burst_replay_details(struct rte_mbuf *const *pkts, uint32_t n, struct key_burst *out,
	struct parse_counts *counts);

/* The same, with details and extra. in_ports[RTE_MAX_ETHPORTS]: what mbuf->port stands for. */
void parse_burst_port_extra(struct rte_mbuf *const *pkts, uint32_t n, struct key_burst *out,
	struct parse_counts *counts, const struct packet_times *times, const uint16_t *in_ports);

/* The same, with details and extra. */
void parse_burst_replay_extra(struct rte_mbuf *const *pkts, uint32_t n, struct key_burst *out,
	struct parse_counts *counts);

/* The same, with details, extra and TCP. */
void parse_burst_port_tcp(struct rte_mbuf *const *pkts, uint32_t n, struct key_burst *out,
	struct parse_counts *counts, const struct packet_times *times, const uint16_t *in_ports);

/* The same, with details, extra and TCP. */
void parse_burst_replay_tcp(struct rte_mbuf *const *pkts, uint32_t n, struct key_burst *out,
	struct parse_counts *counts);
