/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Workload of a group of subjects: one array with the keys of all packets, in order, and the exact
 * number of packets of each key.
 *
 * Subjects read the array from start to end. With the default of 4 M packets it has 64 MB, more
 * than most caches. Each pass then reads it from memory, but sequentially, so that the hardware
 * prefetches it.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "key/hash.h"
#include "key/key_burst.h"
#include "rx/source.h"
#include "sketch/hyperloglog.h"

#define WORKLOAD_WIRE_LEN 64   /* bytes of every packet */
#define WORKLOAD_TOP      100  /* number of heaviest keys by which accuracy is measured */
#define WORKLOAD_TOP_MOST 1000 /* maximum number of these keys */

/* Maximum number of packets. Slots number packets from 1, in 32 bits. */
#define WORKLOAD_PACKETS_MAX (UINT64_C(1) << 30)

struct workload_spec {
	bool random;      /* true: all header fields are random; flows and zipf_e6 are not used */
	uint32_t zipf_e6; /* exponent of the Zipf distribution x 10^6; 0: uniform */
	uint64_t flows;   /* number of flows */
	uint64_t packets; /* at most WORKLOAD_PACKETS_MAX; a multiple of BURST_MAX if generated */
	uint64_t seed;
};

/* Returns n rounded up to whole bursts. */
static inline uint64_t workload_packets(uint64_t n)
{
	return (n + BURST_MAX - 1) / BURST_MAX * BURST_MAX;
}

struct workload_flow {
	uint32_t first; /* number of its first packet, from 1; 0: free slot */
	uint32_t packets;
};

struct workload {
	struct workload_spec spec;
	uint64_t room;               /* number of packets that fit in the memory */
	struct key4 *keys;           /* [spec.packets], with room for whole bursts */
	uint32_t *flow_hashes;       /* RSS hashes by a NIC, with the same size; NULL: none */
	struct workload_flow *slots; /* exact counts: hash table of 2^bits slots */
	uint32_t bits;
	uint64_t distinct; /* distinct keys */
	uint32_t nb_top;   /* WORKLOAD_TOP_MOST, or all keys if there are fewer */
	struct workload_flow top[WORKLOAD_TOP_MOST]; /* heaviest keys, descending */
	struct hash_key hash_key;                    /* hash of the sketches */
	/* Sketch of distinct keys, with the same hash as in a worker. */
	struct hyperloglog distinct_keys;
};

/* Allocates an empty workload with room for `packets` packets. Returns NULL if out of memory. */
struct workload *workload_allocate(uint64_t packets, uint64_t hash_seed);

/*
 * Counts the packets of each key exactly, finds the heaviest keys, and estimates the number of
 * distinct keys. Stops early on a signal.
 */
void workload_find_truth(struct workload *workload);

/* Packets found in a source. */
struct workload_intake {
	uint64_t ipv4, ipv6; /* packets used */
	uint64_t others;     /* ignored packets, which have no key */
};

/*
 * Reads packets from a source until `packets` of them have a key, or to its end. Replaces each IPv6
 * key by an IPv4 key with hashed addresses, so that flows keep their packet counts. Returns NULL
 * with one line in error[SOURCE_ERROR_MAX].
 */
struct workload *workload_read(struct source *source, uint64_t packets, uint64_t hash_seed,
	struct workload_intake *intake, char *error);

void workload_destroy(struct workload *workload);

/* Returns the exact number of packets of a key; 0 if the key does not exist. */
uint64_t workload_truth(const struct workload *workload, const struct key4 *key);

static inline uint64_t workload_bursts(const struct workload *workload)
{
	return workload_packets(workload->spec.packets) / BURST_MAX;
}

/* Initializes a burst. workload_load() then changes only its keys and their number. */
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
 * Copies keys one by one, like a parser. The speed of a block copy depends on the compiler and the
 * C library, and code that then reads the copy can be slower by 1 ns per packet.
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

/*
 * Loads the keys of burst b, and the hashes of a NIC if there are any. The last burst may not be
 * full.
 */
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
