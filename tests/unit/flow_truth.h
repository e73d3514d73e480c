/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A stream for flow tables, its true counts, and the flows that a table lists. Include after
 * cmocka.h.
 */

#include <stdlib.h>
#include <string.h>

#include "sketch/flow_table/flow_table.h"
#include "zipf_stream.h"

#define FLOWS   3000
#define PACKETS 40000
#define SEED    11

struct truth {
	uint64_t packets[FLOWS], bytes[FLOWS], ip_bytes[FLOWS];
	int64_t first[FLOWS], last[FLOWS];
	uint8_t tcp_flags[FLOWS];
};

static struct truth truth;

/* Adds packets out of order, also with times before 1970. */
static inline void add_details(struct key_burst *burst, uint32_t flow, uint64_t *random)
{
	uint32_t i = burst->n - 1;
	int64_t time = (int64_t)(zipf_random(random) % 1000000) - 5000;
	uint8_t flags = (uint8_t)(1u << zipf_random(random) % 8);

	burst->overhead[i] = (uint16_t)(zipf_random(random) % 20);
	burst->time[i] = time;
	burst->tcp_flags[i] = flags;
	truth.first[flow] =
		truth.packets[flow] == 0 || time < truth.first[flow] ? time : truth.first[flow];
	truth.last[flow] =
		truth.packets[flow] == 0 || time > truth.last[flow] ? time : truth.last[flow];
	truth.packets[flow]++;
	truth.bytes[flow] += burst->wire_len[i];
	truth.ip_bytes[flow] += burst->wire_len[i] - burst->overhead[i];
	truth.tcp_flags[flow] |= flags;
}

/* Feeds a stream in bursts of 1 to `longest` packets. */
static inline void feed(const struct sketch_ops *ops, struct sketch *sketch, uint32_t longest,
	enum sketch_sharing sharing)
{
	static struct key_burst burst;
	struct zipf_stream stream;
	uint64_t random = 3, cuts = longest;
	uint32_t left = 1;

	truth = (struct truth){0};
	burst.has_overhead = true;
	zipf_open(&stream, FLOWS, 0.9, SEED);
	burst.n = 0;
	for (uint32_t p = 0; p < PACKETS; p++) {
		uint32_t flow = zipf_draw(&stream);

		zipf_append(&stream, &burst, flow);
		add_details(&burst, flow, &random);
		if (--left > 0 && p + 1 < PACKETS)
			continue;
		ops->update[sharing](sketch, &burst);
		burst.n = 0;
		left = 1 + (uint32_t)(zipf_random(&cuts) % longest);
	}
	zipf_close(&stream);
}

/* A lookup finds a flow if it has packets. */
static inline void assert_finds(const struct sketch *sketch)
{
	static struct key_burst burst;
	struct zipf_stream stream;

	zipf_open(&stream, FLOWS, 0.9, SEED);
	for (uint32_t flow = 0; flow < FLOWS; flow++) {
		burst.n = 0;
		zipf_append(&stream, &burst, flow);
		assert_int_equal(sketch_look_up(sketch, &burst, 0), truth.packets[flow] > 0);
	}
	zipf_close(&stream);
}

struct listing {
	uint32_t n;
	bool seen[FLOWS];
	struct sketch_candidate list[FLOWS];
};

static struct listing listed;

static inline void list_candidate(const struct sketch_candidate *candidate, void *arg)
{
	struct listing *listing = arg;
	struct hash_key hash_key;
	struct key_hash hash;
	uint32_t flow = zipf_flow(&candidate->key);
	struct key key;

	assert_true(flow < FLOWS && listing->n < FLOWS);
	key = zipf_key(flow);
	assert_true(key_equal(&key, &candidate->key));
	assert_false(listing->seen[flow]);
	listing->seen[flow] = true;
	hash_key_init(&hash_key, SEED);
	hash = hash_one(&hash_key, &key);
	assert_true(hash.lo == candidate->hash.lo && hash.hi == candidate->hash.hi);
	listing->list[listing->n++] = *candidate;
}

static inline void list(const struct sketch *sketch, struct listing *listing)
{
	memset(listing, 0, sizeof(*listing));
	sketch->ops->candidates(sketch, list_candidate, listing);
}

static inline void assert_exact(const struct listing *listing, bool ip_bytes)
{
	for (uint32_t i = 0; i < listing->n; i++) {
		const struct sketch_candidate *got = &listing->list[i];
		uint32_t flow = zipf_flow(&got->key);

		assert_int_equal(got->packets, truth.packets[flow]);
		assert_int_equal(got->bytes, truth.bytes[flow]);
		assert_int_equal(got->ip_bytes, ip_bytes ? truth.ip_bytes[flow] : 0);
		assert_int_equal(got->first, truth.first[flow]);
		assert_int_equal(got->last, truth.last[flow]);
		assert_int_equal(got->tcp_flags, truth.tcp_flags[flow]);
		assert_int_equal(got->before, 0);
	}
}

static inline uint32_t true_flows(void)
{
	uint32_t flows = 0;

	for (uint32_t f = 0; f < FLOWS; f++)
		flows += truth.packets[f] > 0;
	return flows;
}

/* Feeds nb_keys keys twice, one burst per packet, all into one bucket: no packet may be shed. */
static inline void feed_one_bucket(
	const struct sketch_ops *ops, struct sketch *sketch, uint32_t nb_keys, uint32_t step)
{
	static struct key_burst burst;

	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t flow = 0; flow < nb_keys; flow++) {
			struct key key = zipf_key(flow * step % FLOWS);
			struct key_hash hash = {.hi = zipf_flow(&key), .lo = 5};

			burst.n = 0;
			burst_append(&burst, &key, &hash, 60);
			ops->update[SHARING_SEPARATE](sketch, &burst);
		}
	assert_int_equal(ops->shed(sketch).packets, 0);
}
