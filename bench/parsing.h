/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* From packets whose headers are in the cache to hashed keys. */

#include <stdbool.h>
#include <stdint.h>

struct parsing;
struct rte_mbuf;

/* Packets of 64 bytes or as many as their headers take: IPv4, or IPv6 behind a VLAN tag. EAL must
 * be up. NULL where memory is missing. */
struct parsing *parsing_create(bool ipv6_vlan, uint64_t seed);
void parsing_destroy(struct parsing *parsing);
/* [BURST_MAX] */
struct rte_mbuf *const *parsing_packets(const struct parsing *parsing);

/* Parses and hashes a multiple of 64 packets, on one thread. Returns false where one had no key. */
bool parsing_run(struct parsing *parsing, uint64_t packets);
