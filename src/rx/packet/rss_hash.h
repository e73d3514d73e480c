/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Flow hash that distributes packets over queues: Toeplitz with the repeated key 6D 5A, which makes
 * it symmetric (Woo and Park 2012). Both directions of a connection reach the same worker. The key
 * is public: a sender can direct load at one worker, but cannot cause collisions in a sketch.
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
#define RSS_RETA_SIZE   128 /* entries of the software indirection table; common in NICs */

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

/* As rss_hash(), but only for the fields in the mask. */
uint32_t rss_hash_masked(
	enum parse_verdict verdict, const struct parsed *parsed, const struct rss_mask *mask);

/*
 * Hashes the 5-tuples of a burst. Unlike rss_hash_masked(), includes the ports of first fragments,
 * because keys do not mark them as fragments.
 */
void rss_hash_burst(
	const struct key_burst *burst, const struct rss_mask *mask, uint32_t hashes[BURST_MAX]);
