/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The flow hash that steers packets to queues: Toeplitz under the key 6D 5A repeated, which makes
 * it symmetric (Woo and Park 2012), so that both directions of a connection meet on one worker. The
 * key is public: a sender can aim at one worker, but not at a sketch.
 */

#include <stdint.h>

#include "key/key_burst.h"
#include "rx/packet/parse.h"

/* Fields of the RSS hash of a device. */
enum rss_fields {
	RSS_FIELDS_5TUPLE, /* addresses, and the ports of TCP, UDP and SCTP; fragments: addresses */
	RSS_FIELDS_ADDRESSES,
	RSS_FIELDS_SRC,
	RSS_FIELDS_DST,
};

#define RSS_KEY_LEN_MAX 64
#define RSS_RETA_SIZE   128 /* entries of the software indirection table, as many cards have */

extern const uint8_t rss_symmetric_key[RSS_KEY_LEN_MAX];

/*
 * Returns the 32-bit hash that a NIC computes for a packet: addresses and ports for TCP, UDP and
 * SCTP without fragmentation, else addresses; 0 for non-IP packets.
 */
uint32_t rss_hash(enum parse_verdict verdict, const struct parsed *parsed);

/* Hashed fields: each member has all bits set or none. */
struct rss_mask {
	uint64_t src, dst;
	uint32_t ports;
};

struct rss_mask rss_mask_of(enum rss_fields fields);

/* As rss_hash(), of the fields in the mask. */
uint32_t rss_hash_masked(
	enum parse_verdict verdict, const struct parsed *parsed, const struct rss_mask *mask);

/*
 * The same of the 5-tuples of a burst, where what was no part of them is forgotten: the first
 * fragment of a datagram has ports.
 */
void rss_hash_burst(
	const struct key_burst *burst, const struct rss_mask *mask, uint32_t hashes[BURST_MAX]);
