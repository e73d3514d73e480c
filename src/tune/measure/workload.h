/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The keys of all packets in order, and the exact number of packets of each key. The array exceeds
 * most caches (64 MB for 4 M packets), but is read sequentially, so that the hardware prefetches
 * it.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "key/hash.h"
#include "key/key_burst.h"
#include "rx/source.h"
#include "sketch/hyperloglog.h"

#define WORKLOAD_WIRE_LEN 64
#define WORKLOAD_TOP      100 /* heaviest keys by which accuracy is measured */
#define WORKLOAD_TOP_MOST 1000

/* Slots number packets from 1, in 32 bits. */
#define WORKLOAD_PACKETS_MAX (UINT64_C(1) << 30)

struct workload_spec {
	bool random;      /* all header fields are random */
	uint32_t zipf_e6; /* exponent x 10^6; 0: uniform */
	uint64_t flows;
	uint64_t packets; /* generated: a multiple of BURST_MAX */
	uint64_t seed;
};

static inline uint64_t workload_packets(uint64_t n)
{
	return (n + BURST_MAX - 1) / BURST_MAX * BURST_MAX;
}

struct workload_flow {
	uint32_t first; /* number of the first packet, from 1; 0: free slot */
	uint32_t packets;
};

struct workload {
	struct workload_spec spec;
	uint64_t room;
	struct key4 *keys;           /* [spec.packets] and the rest of a burst */
	uint32_t *flow_hashes;       /* same size; RSS hashes of a NIC; NULL: none */
	struct workload_flow *slots; /* hash table of 2^bits slots */
	uint32_t bits;
	uint64_t distinct;
	uint32_t nb_top; /* WORKLOAD_TOP_MOST, or all keys if fewer */
	struct workload_flow top[WORKLOAD_TOP_MOST];
	struct hash_key hash_key;
	/* same hash as in a worker */
	struct hyperloglog distinct_keys;
};

struct workload *workload_allocate(uint64_t packets, uint64_t hash_seed);

/* Fills slots[], top[] and the number of distinct keys. Stops early on a signal. */
void workload_find_truth(struct workload *workload);

struct workload_intake {
	uint64_t ipv4, ipv6;
	uint64_t others; /* ignored packets, which have no key */
};

/*
 * Reads until `packets` packets have a key. Replaces IPv6 keys by IPv4 keys with hashed addresses,
 * which keeps the packet counts of flows. On failure, returns NULL with a line in
 * error[SOURCE_ERROR_MAX].
 */
struct workload *workload_read(struct source *source, uint64_t packets, uint64_t hash_seed,
	struct workload_intake *intake, char *error);

void workload_destroy(struct workload *workload);

/* Returns 0 if the key does not exist. */
uint64_t workload_truth(const struct workload *workload, const struct key4 *key);

static inline uint64_t workload_bursts(const struct workload *workload)
{
	return workload_packets(workload->spec.packets) / BURST_MAX;
}

/* workload_load() then changes only the keys and their number. */
static inline void workload_burst_init(struct key_burst *burst)
{
	burst->n = BURST_MAX;
	burst->writer = 0;
	burst->v6 = 0;
	for (uint32_t i = 0; i < BURST_MAX; i++)
		burst->wire_len[i] = WORKLOAD_WIRE_LEN;
	memset(burst->time, 0, sizeof(burst->time));
	memset(burst->tcp_flags, 0, sizeof(burst->tcp_flags));
}

/*
 * Copies keys one by one, like a parser. After a block copy, whose speed depends on the compiler
 * and the C library, reading the copy can take 1 ns more per packet.
 */
static inline void workload_copy(struct key4 *to, const struct key4 *from)
{
	typedef uint64_t words __attribute__((vector_size(16), may_alias));

	for (uint32_t i = 0; i < BURST_MAX; i++) {
		words key = *(const words *)(const void *)&from[i];

		__asm__("" : "+x"(key));
		*(words *)(void *)&to[i] = key;
	}
}

static inline void workload_load(
	const struct workload *workload, uint64_t b, struct key_burst *burst)
{
	uint64_t left = workload->spec.packets - b * BURST_MAX;

	burst->n = left < BURST_MAX ? (uint32_t)left : BURST_MAX;
	workload_copy(burst->key4, workload->keys + b * BURST_MAX);
	if (workload->flow_hashes != NULL)
		for (uint32_t i = 0; i < BURST_MAX; i++)
			burst->hash[i].lo = workload->flow_hashes[b * BURST_MAX + i];
}
