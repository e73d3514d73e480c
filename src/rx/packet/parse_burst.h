/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdint.h>

#include <rte_mbuf.h>

#include "key/key_burst.h"
#include "rx/packet/packet_times.h"
#include "rx/packet/parse.h"

/* Only one worker writes the counters of an epoch. */
struct parse_counts {
	uint64_t verdicts[PARSE_VERDICT_COUNT]; /* packets with each verdict */
	uint64_t bytes;                         /* wire bytes of measured packets, without FCS */
	uint32_t largest_frame;                 /* bytes of the largest packet, measured or not */
	uint32_t smallest_frame; /* bytes of the smallest measured packet; UINT32_MAX: none */
};

static inline void parse_counts_reset(struct parse_counts *counts)
{
	*counts = (struct parse_counts){.smallest_frame = UINT32_MAX};
}

/* `mbuf` may have several segments. */
enum parse_verdict parse_mbuf(
	const struct rte_mbuf *mbuf, uint32_t wire_len, enum link_type link, struct parsed *parsed);

/* Fields that the parser sets. Each level includes the previous ones. */
enum parse_level {
	PARSE_KEYS,
	PARSE_DETAILS,
	PARSE_EXTRA,
	PARSE_TCP,
};

/*
 * The functions below parse n <= BURST_MAX packets, count all in `counts`, and write those with a
 * key to `out`, without hashes. If `overhead` is true and level >= PARSE_DETAILS, they set
 * out->overhead.
 */

/*
 * If level >= PARSE_DETAILS, `times` converts timestamps. If level >= PARSE_EXTRA,
 * in_ports[RTE_MAX_ETHPORTS] maps mbuf->port to the input port of the key.
 */
void parse_burst_port(struct rte_mbuf *const *pkts, uint32_t n, struct key_burst *out,
	struct parse_counts *counts, enum parse_level level, bool overhead,
	const struct packet_times *times, const uint16_t *in_ports);

/* All packets must have packet_meta(). */
void parse_burst_replay(struct rte_mbuf *const *pkts, uint32_t n, struct key_burst *out,
	struct parse_counts *counts, enum parse_level level, bool overhead);
