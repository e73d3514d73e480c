/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Parses and hashes packets whose headers are in the cache. */

#include <stdbool.h>
#include <stdint.h>

struct parsing;
struct rte_mbuf;

/*
 * Creates packets of at least 64 bytes: IPv4, or IPv6 after a VLAN tag. Requires EAL. Returns NULL
 * if out of memory.
 */
struct parsing *parsing_create(bool ipv6_vlan, uint64_t seed);
void parsing_destroy(struct parsing *parsing);
/* Returns the array of BURST_MAX packets. */
struct rte_mbuf *const *parsing_packets(const struct parsing *parsing);

/*
 * Parses and hashes `packets`, a multiple of 64, on the calling thread. Returns false if a packet
 * had no key.
 */
bool parsing_run(struct parsing *parsing, uint64_t packets);
