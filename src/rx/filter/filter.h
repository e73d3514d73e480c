/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Applies a filter expression to a burst: native code if the processor and the program allow it,
 * else the interpreter of libpcap. Reads only captured bytes; a program that needs more does not
 * match, as in tcpdump.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "rx/filter/filter_program.h"

struct filter;

/*
 * Loads the programs of the set, which must outlive the filter. With `replay`, struct packet_meta
 * has the program and the wire length of each packet. Otherwise program 0 and pkt_len apply to all.
 * Returns NULL if out of memory.
 */
struct filter *filter_create(const struct filter_set *set, bool replay);
void filter_destroy(struct filter *filter);

/* Returns the number of interpreted programs. */
uint32_t filter_interpreted(const struct filter *filter);

/* Returns true if a packet matches program 0. */
bool filter_match(
	const struct filter *filter, const uint8_t *data, uint32_t captured, uint32_t wire_len);

/*
 * Writes those of n <= BURST_MAX packets that match, in their order. Returns the number of matches.
 */
uint32_t filter_pick(const struct filter *filter, struct rte_mbuf *const *pkts, uint32_t n,
	struct rte_mbuf **matching);

/*
 * Moves matching packets to the front, in order, followed by the others. n is at most BURST_MAX.
 * Returns the number of matches.
 */
uint32_t filter_burst(const struct filter *filter, struct rte_mbuf **pkts, uint32_t n);
