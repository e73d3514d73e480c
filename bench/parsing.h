/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Parses and hashes packets whose headers are in the cache. */

#include <stdbool.h>
#include <stdint.h>

struct parsing;
struct rte_mbuf;

/* IPv4, or IPv6 after a VLAN tag. Requires EAL. Returns NULL if out of memory. */
struct parsing *parsing_create(bool ipv6_vlan, uint64_t seed);
void parsing_destroy(struct parsing *parsing);
struct rte_mbuf *const *parsing_packets(const struct parsing *parsing);

/* `packets` is a multiple of 64. Returns false if a packet had no key. */
bool parsing_run(struct parsing *parsing, uint64_t packets);
