/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The packets of a burst that a filter expression leaves: native code where the processor and the
 * program allow it, else libpcap's interpreter. Reads nothing outside a packet's captured bytes;
 * what such a read would decide is no match, as for tcpdump.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "rx/filter/filter_program.h"

struct filter;

/*
 * Loads the programs of the set, which must outlive the filter. With `replay` the packets carry
 * struct packet_meta, which says what program is theirs, and how long they were on the wire; else
 * all have program 0 and are as long as pkt_len says. NULL where there is no memory.
 */
struct filter *filter_create(const struct filter_set *set, bool replay);
void filter_destroy(struct filter *filter);

/* Of its programs, how many are interpreted. */
uint32_t filter_interpreted(const struct filter *filter);

/* Whether one packet matches program 0. */
bool filter_match(
	const struct filter *filter, const uint8_t *data, uint32_t captured, uint32_t wire_len);

/* Writes those of n <= BURST_MAX packets that match, in their order. Returns how many they are. */
uint32_t filter_pick(const struct filter *filter, struct rte_mbuf *const *pkts, uint32_t n,
	struct rte_mbuf **matching);

/*
 * Puts the packets that match first, in their order, and the others behind them. n is at most
 * BURST_MAX. Returns how many match.
 */
uint32_t filter_burst(const struct filter *filter, struct rte_mbuf **pkts, uint32_t n);
