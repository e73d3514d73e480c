/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Applies a filter expression to a burst, with native code if possible. If a program needs bytes
 * that were not captured, the packet does not match, as in tcpdump.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "rx/filter/filter_program.h"

struct filter;

/*
 * The set must outlive the filter. If `replay` is true, packet_meta() selects the program of each
 * packet. Otherwise program 0 applies to all packets. Returns NULL if out of memory.
 */
struct filter *filter_create(const struct filter_set *set, bool replay);
void filter_destroy(struct filter *filter);

/* Number of programs without native code */
uint32_t filter_interpreted(const struct filter *filter);

/* Runs program 0 of the filter. */
bool filter_match(
	const struct filter *filter, const uint8_t *data, uint32_t captured, uint32_t wire_len);

/* Copies matching packets in order. n <= BURST_MAX. Returns the number of matches. */
uint32_t filter_pick(const struct filter *filter, struct rte_mbuf *const *pkts, uint32_t n,
	struct rte_mbuf **matching);

/* Moves matching packets to the front, in order. n <= BURST_MAX. Returns the number of matches. */
uint32_t filter_burst(const struct filter *filter, struct rte_mbuf **pkts, uint32_t n);
