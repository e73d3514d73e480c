/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Toeplitz hash with the key 6D 5A, repeated, which sends both directions of a connection to the
 * same worker (Woo and Park 2012). The key is public, so a sender can direct load at one worker.
 */

#include <stdint.h>

#include "key/key_burst.h"
#include "rx/packet/parse.h"

enum rss_fields {
	RSS_FIELDS_5TUPLE, /* addresses, and the ports of TCP, UDP and SCTP except in fragments */
	RSS_FIELDS_ADDRESSES,
	RSS_FIELDS_SRC,
	RSS_FIELDS_DST,
};

#define RSS_KEY_LEN_MAX 64
#define RSS_RETA_SIZE   128 /* entries of the software indirection table, as in many NICs */

extern const uint8_t rss_symmetric_key[RSS_KEY_LEN_MAX];

/* Returns the hash that a NIC computes with RSS_FIELDS_5TUPLE; 0 for non-IP packets. */
uint32_t rss_hash(enum parse_verdict verdict, const struct parsed *parsed);

struct rss_mask {
	uint64_t src, dst;
	uint32_t ports;
};

struct rss_mask rss_mask_of(enum rss_fields fields);

uint32_t rss_hash_masked(
	enum parse_verdict verdict, const struct parsed *parsed, const struct rss_mask *mask);

/* Hashes the ports of first fragments: a key does not show that it comes from a fragment. */
void rss_hash_burst(
	const struct key_burst *burst, const struct rss_mask *mask, uint32_t hashes[BURST_MAX]);
