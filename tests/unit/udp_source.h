/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* A source of UDP packets with known flows, and one sketch that counts all of them. */

#include <stdint.h>

#include "key/hash.h"
#include "key/key_burst.h"
#include "rx/packet/parse.h"
#include "rx/source.h"
#include "sketch/sketch.h"

#define FRAME_LEN 60

struct test_source {
	struct source source;
	uint64_t n, next;
	uint32_t flows;
	int64_t step; /* ns between packets */
	uint8_t frame[FRAME_LEN];
};

static void put32(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 24);
	at[1] = (uint8_t)(value >> 16);
	at[2] = (uint8_t)(value >> 8);
	at[3] = (uint8_t)value;
}

/* Returns the flow of packet i: skewed, so that some are heavy. */
static uint32_t flow_of(const struct test_source *source, uint64_t i)
{
	uint64_t mixed = (i * 0x9e3779b97f4a7c15ULL) >> 20;

	return (uint32_t)(mixed % (1 + mixed % source->flows));
}

static int test_source_next(struct source *base, struct source_packet *packet)
{
	struct test_source *source = (struct test_source *)base;
	uint32_t flow;

	if (source->next == source->n)
		return 0;
	flow = flow_of(source, source->next);
	put32(&source->frame[26], 0x0a000000 + flow);
	put32(&source->frame[30], 0x0b000000 + flow / 3);
	*packet = (struct source_packet){
		.data = source->frame,
		.captured = FRAME_LEN,
		.wire_len = 100 + flow % 50,
		.time = (int64_t)source->next * source->step,
		.link = LINK_ETHERNET,
	};
	source->next++;
	return 1;
}

static double test_source_progress(const struct source *source)
{
	(void)source;
	return -1;
}

static struct test_source make_source(uint64_t n, uint32_t flows, int64_t step)
{
	struct test_source source = {
		.source = {.next = test_source_next, .progress = test_source_progress},
		.n = n,
		.flows = flows,
		.step = step,
	};

	source.frame[12] = 0x08;
	source.frame[14] = 0x45;
	source.frame[23] = 17;
	return source;
}

/* Feeds the whole stream to one sketch directly. */
static void feed_directly(struct sketch *sketch, const struct key_rule *rule, uint64_t seed,
	struct test_source *source)
{
	static struct key_burst burst, masked;
	struct hash_key hash_key;
	struct source_packet packet;

	hash_key_init(&hash_key, seed);
	while (source->source.next(&source->source, &packet) > 0) {
		struct parsed parsed;

		assert_int_equal(parse_packet(packet.data, packet.captured, packet.link, &parsed),
			PARSE_IPV4);
		burst.n = 1;
		burst.v6 = 0;
		burst.key4[0] = parsed.key4;
		burst.wire_len[0] = packet.wire_len;
		key_burst_mask(&masked, &burst, rule);
		hash_burst(&hash_key, &masked);
		sketch->ops->update[SHARING_SEPARATE](sketch, &masked);
	}
}

/* Asserts equal estimates of all keys of the source, and thus equal counters. */
static void assert_same_estimates(const struct sketch *a, const struct sketch *b,
	const struct key_rule *rule, uint64_t seed, uint32_t flows)
{
	struct hash_key hash_key;

	hash_key_init(&hash_key, seed);
	for (uint32_t flow = 0; flow < flows; flow++) {
		struct key key = {.family = KEY_IPV4};
		struct key_hash hash;

		put32(key.v4.dst_ip, 0x0b000000 + flow / 3);
		if (rule->fields & 1U << KEY_SRC_IP) {
			put32(key.v4.src_ip, 0x0a000000 + flow);
			key.v4.proto = 17;
		}
		hash = hash_one(&hash_key, &key);
		assert_int_equal(a->ops->query(a, &hash).value, b->ops->query(b, &hash).value);
	}
}
