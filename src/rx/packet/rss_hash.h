/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Flow hash that distributes packets over queues: Toeplitz with the repeated key 6D 5A. This key
 * makes it symmetric (Woo and Park 2012): both directions of a connection reach the same worker.
 * The key is public, so a sender can direct load at one worker. It cannot cause collisions in a
 * sketch, which uses another hash.
 */

#include <stdint.h>

#include "key/key_burst.h"
#include "rx/packet/parse.h"

/* Fields of the RSS hash of a device. */
enum rss_fields {
	RSS_FIELDS_5TUPLE, /* addresses, and the ports of TCP, UDP and SCTP except in fragments */
	RSS_FIELDS_ADDRESSES,
	RSS_FIELDS_SRC,
	RSS_FIELDS_DST,
};

#define RSS_KEY_LEN_MAX 64
#define RSS_RETA_SIZE   128 /* entries of the software indirection table, as in many NICs */

extern const uint8_t rss_symmetric_key[RSS_KEY_LEN_MAX];

/*
 * Returns the 32-bit RSS hash that a NIC computes for a packet. It covers the addresses and, in
 * TCP, UDP and SCTP packets that are not fragments, the ports. It is 0 for non-IP packets.
 */
uint32_t rss_hash(enum parse_verdict verdict, const struct parsed *parsed);

/* Masks of the hashed fields. A member has all bits set if its field is hashed, else none. */
struct rss_mask {
	uint64_t src, dst;
	uint32_t ports;
};

struct rss_mask rss_mask_of(enum rss_fields fields);

/* Like rss_hash(), but hashes only the fields in the mask. */
uint32_t rss_hash_masked(
	enum parse_verdict verdict, const struct parsed *parsed, const struct rss_mask *mask);

/*
 * Hashes the 5-tuples of a burst. The hash of a first fragment includes its ports, unlike that of
 * rss_hash_masked(): a key does not show that it comes from a fragment.
 */
void rss_hash_burst(
	const struct key_burst *burst, const struct rss_mask *mask, uint32_t hashes[BURST_MAX]);
