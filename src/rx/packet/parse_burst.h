/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Parses a burst of mbufs into a burst of keys, and counts packets by verdict. */

#include <stdint.h>

#include <rte_mbuf.h>

#include "key/key_burst.h"
#include "rx/packet/packet_times.h"
#include "rx/packet/parse.h"

/* Counters of one worker in one epoch. Written only by this worker. */
struct parse_counts {
	uint64_t verdicts[PARSE_VERDICT_COUNT]; /* packets */
	uint64_t bytes;                         /* wire bytes of measured packets, without FCS */
	uint32_t largest_frame;                 /* bytes, maximum of all packets */
	uint32_t smallest_frame; /* bytes, minimum of measured packets; UINT32_MAX: none */
};

static inline void parse_counts_reset(struct parse_counts *counts)
{
	*counts = (struct parse_counts){.smallest_frame = UINT32_MAX};
}

/* parse_captured() for a packet that may be a chain of segments */
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
 * Both functions below write the packets that have a key to `out`, in their order and without
 * hashes. `level` selects the fields; `overhead` needs PARSE_DETAILS or above. All n <= BURST_MAX
 * packets are added to `counts`. A packet may be a chain of segments: its length is that of all
 * segments, and a header may span several.
 */

/*
 * Parses packets of a live port: Ethernet, with length pkt_len. `times` is used for details,
 * in_ports[RTE_MAX_ETHPORTS] (input of mbuf->port) for extra.
 */
void parse_burst_port(struct rte_mbuf *const *pkts, uint32_t n, struct key_burst *out,
	struct parse_counts *counts, enum parse_level level, bool overhead,
	const struct packet_times *times, const uint16_t *in_ports);

/*
 * Parses packets of the feeder: link type, wire length, time and input port are in packet_meta().
 */
void parse_burst_replay(struct rte_mbuf *const *pkts, uint32_t n, struct key_burst *out,
	struct parse_counts *counts, enum parse_level level, bool overhead);
