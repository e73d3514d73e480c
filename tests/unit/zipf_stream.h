/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A stream of packets whose flow sizes follow Zipf's law, with exact counts, for tests of
 * estimates. Flow f has rank f + 1; every third one is IPv6, and its packets have 60 to 1514 bytes.
 */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "key/hash.h"
#include "key/key.h"
#include "key/key_burst.h"

#define FRAME_MIN 60
#define FRAME_MAX 1514

struct zipf_stream {
	struct hash_key hash_key;
	uint64_t state;
	uint32_t nb_flows;
	double *cdf;
	uint64_t *packets, *bytes; /* sums per flow */
	struct key_hash *hash;     /* hash of each flow */
};

/* splitmix64 */
static inline uint64_t zipf_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static inline struct key zipf_key(uint32_t flow)
{
	struct key key;

	memset(&key, 0, sizeof(key));
	if (flow % 3 == 2) {
		key.family = KEY_IPV6;
		memset(key.v6.src_ip, 0x20, 4);
		memcpy(key.v6.dst_ip, &flow, sizeof(flow));
		key.v6.proto = 6;
	} else {
		key.family = KEY_IPV4;
		memcpy(key.v4.src_ip, &flow, sizeof(flow));
		key.v4.dst_port[1] = 53;
		key.v4.proto = 17;
	}
	return key;
}

/* Returns the flow of a key made by zipf_key(). */
static inline uint32_t zipf_flow(const struct key *key)
{
	uint32_t flow;

	memcpy(&flow, key->family == KEY_IPV6 ? key->v6.dst_ip : key->v4.src_ip, sizeof(flow));
	return flow;
}

/* Clears the counts, and continues with another hash key and other draws. */
static inline void zipf_restart(struct zipf_stream *stream, uint64_t seed)
{
	stream->state = seed;
	hash_key_init(&stream->hash_key, seed);
	memset(stream->packets, 0, stream->nb_flows * sizeof(*stream->packets));
	memset(stream->bytes, 0, stream->nb_flows * sizeof(*stream->bytes));
	for (uint32_t f = 0; f < stream->nb_flows; f++) {
		struct key key = zipf_key(f);

		stream->hash[f] = hash_one(&stream->hash_key, &key);
	}
}

static inline void zipf_open(
	struct zipf_stream *stream, uint32_t nb_flows, double exponent, uint64_t seed)
{
	double sum = 0;

	stream->nb_flows = nb_flows;
	stream->cdf = calloc(nb_flows, sizeof(*stream->cdf));
	stream->packets = calloc(nb_flows, sizeof(*stream->packets));
	stream->bytes = calloc(nb_flows, sizeof(*stream->bytes));
	stream->hash = calloc(nb_flows, sizeof(*stream->hash));
	for (uint32_t f = 0; f < nb_flows; f++)
		stream->cdf[f] = sum += pow(f + 1, -exponent);
	zipf_restart(stream, seed);
}

static inline void zipf_close(struct zipf_stream *stream)
{
	free(stream->cdf);
	free(stream->packets);
	free(stream->bytes);
	free(stream->hash);
}

static inline uint32_t zipf_draw(struct zipf_stream *stream)
{
	double u = (double)(zipf_random(&stream->state) >> 11) * 0x1p-53 *
		   stream->cdf[stream->nb_flows - 1];
	uint32_t low = 0, high = stream->nb_flows - 1;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (stream->cdf[middle] < u)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Appends a packet to the burst, including its hash, without counting it. */
static inline void burst_append(struct key_burst *burst, const struct key *key,
	const struct key_hash *hash, uint32_t wire_len)
{
	uint32_t i = burst->n++;

	if (i == 0)
		burst->v6 = 0;
	if (key->family == KEY_IPV6) {
		burst->v6 |= UINT64_C(1) << i;
		burst->key6[i] = key->v6;
	} else {
		burst->key4[i] = key->v4;
	}
	burst->hash[i] = *hash;
	burst->wire_len[i] = wire_len;
}

/* Appends a packet of a flow, and adds it to the counts. */
static inline void zipf_append(struct zipf_stream *stream, struct key_burst *burst, uint32_t flow)
{
	uint32_t wire_len =
		FRAME_MIN + (uint32_t)(zipf_random(&stream->state) % (FRAME_MAX - FRAME_MIN + 1));
	struct key key = zipf_key(flow);

	stream->packets[flow]++;
	stream->bytes[flow] += wire_len;
	burst_append(burst, &key, &stream->hash[flow], wire_len);
}
