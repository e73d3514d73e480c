/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What every contestant of a group is fed: the keys of generated packets, in their order, in one
 * array. Contestants read it from one end to the other. With the default of 4 M packets it is 64
 * MB, more than most caches, and what is read next comes from memory however often it was read
 * before; the access is sequential, so that the hardware fetches it ahead.
 *
 * Beside it stands the truth: how many packets each key has.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "key/hash.h"
#include "key/key_burst.h"
#include "rx/source.h"
#include "sketch/hyperloglog.h"

#define WORKLOAD_WIRE_LEN 64   /* bytes, of every packet */
#define WORKLOAD_TOP      100  /* the keys by which accuracy is judged */
#define WORKLOAD_TOP_MOST 1000 /* and by which it may be, too */

/* Packets that a workload may have: truth slots count from 1 in 32 bits. */
#define WORKLOAD_PACKETS_MAX (UINT64_C(1) << 30)

struct workload_spec {
	bool random;      /* all-random headers; flows and zipf_e6 are not used */
	uint32_t zipf_e6; /* exponent x 10^6; 0: uniform */
	uint64_t flows;   /* that keys are drawn from */
	uint64_t packets; /* at most WORKLOAD_PACKETS_MAX; a multiple of BURST_MAX if generated */
	uint64_t seed;
};

/* The least number of packets, n or more, that fills bursts. */
static inline uint64_t workload_packets(uint64_t n)
{
	return (n + BURST_MAX - 1) / BURST_MAX * BURST_MAX;
}

struct workload_flow {
	uint32_t first; /* its first packet, from 1 on; 0: a free slot */
	uint32_t packets;
};

struct workload {
	struct workload_spec spec;
	uint64_t room;               /* packets that there is memory for */
	struct key4 *keys;           /* [spec.packets], and room for whole bursts */
	uint32_t *flow_hashes;       /* the same; NULL: a card computes none */
	struct workload_flow *slots; /* the truth, a hash table of 2^bits */
	uint32_t bits;
	uint64_t distinct; /* keys */
	uint32_t nb_top;   /* WORKLOAD_TOP_MOST, or all where they are fewer */
	struct workload_flow top[WORKLOAD_TOP_MOST]; /* the heaviest, downwards */
	struct hash_key hash_key;                    /* of the sketches that are fed with it */
	struct hyperloglog distinct_keys; /* under that hash, as a worker would have it */
};

/* Writes the keys of spec->packets packets. False where memory is missing. */
typedef bool (*workload_keys_fn)(const struct workload_spec *spec, struct key4 *keys);

/* Those of the generator. */
bool workload_generate(const struct workload_spec *spec, struct key4 *keys);

/* Draws the packets and counts them. Returns NULL where memory is missing. */
struct workload *workload_create_from(
	const struct workload_spec *spec, workload_keys_fn draw, uint64_t hash_seed);

static inline struct workload *workload_create(const struct workload_spec *spec, uint64_t hash_seed)
{
	return workload_create_from(spec, workload_generate, hash_seed);
}

/* What was found in a source. */
struct workload_intake {
	uint64_t ipv4, ipv6; /* packets that were taken */
	uint64_t others;     /* without a key, left out */
};

/*
 * Takes packets from a source until so many have a key, or to its end. An IPv6 key is stood for by
 * an IPv4 key of its own: what is counted is as often the same, and parsed as IPv4. Returns NULL
 * with one line in error[SOURCE_ERROR_MAX].
 */
struct workload *workload_read(struct source *source, uint64_t packets, uint64_t hash_seed,
	struct workload_intake *intake, char *error);

void workload_destroy(struct workload *workload);

/* From now on packets have the hash of a card. False where memory is missing. */
bool workload_add_flow_hashes(struct workload *workload);

/* Packets of a key; 0 where it has none. */
uint64_t workload_truth(const struct workload *workload, const struct key4 *key);

static inline uint64_t workload_bursts(const struct workload *workload)
{
	return workload_packets(workload->spec.packets) / BURST_MAX;
}

/* Makes a burst ready, once; workload_load() then changes its keys and their number alone. */
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
 * A key at a time, as a parser writes them. A copy as a whole is what compiler and C library make of
 * it, and what comes behind it waits for some of those a nanosecond a packet longer than for others.
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

/* Copies the keys of burst b, and a card's hashes of them. The last burst may not be full. */
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
