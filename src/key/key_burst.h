/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "key/key.h"

/* Packets of one burst. At most 64: one bit each in a uint64_t. */
#define BURST_MAX 64

/*
 * What the entries of a burst stand for where they are not packets: entry i for packets[i] packets
 * of bytes[i] bytes in all, wire bytes without FCS, one after another and as even in size as whole
 * bytes allow. Sketches are given no entry of 0 packets.
 */
struct key_weights {
	uint64_t packets[BURST_MAX], bytes[BURST_MAX];
	/* Where not all packets are looked at: one in 2^shift of each entry was, and counts for all. */
	uint32_t shift;
};

/* Of a TCP segment, in the order of the host. */
struct key_tcp {
	uint32_t sequence, acknowledgement;
	uint32_t payload; /* bytes, by the lengths in the headers */
	uint16_t window;  /* as it stands there, not scaled */
	bool known;       /* false: no TCP, or a fragment, or cut off before the window */
};

/* 128 bits. Every structure cuts its indices out of them; see sketch/ for who takes which. */
struct key_hash {
	uint64_t lo, hi;
};

#define HASH_ROUNDS 4 /* of AES, that make one (key/hash.h) */

/*
 * What a sketch sees of a burst: a structure of arrays, in the order in which the packets came.
 * Entry i belongs to key6[i] where bit i of v6 is set, else to key4[i]; the other one is undefined,
 * so an IPv4-only burst never touches key6. Bits of v6 from n on are 0. The bits say IPv6 in a
 * burst of 5-tuples; in one of another rule, which struct the rule's layout has (key/key.h).
 */
struct key_burst {
	uint32_t n;
	uint32_t writer; /* number of the thread that fills it, among those that share a sketch */
	uint64_t v6;
	/* Looked at only by who counts weighted bursts; then wire_len is not. */
	struct key_weights *weights;
	struct key4 key4[BURST_MAX] __attribute__((aligned(64)));
	struct key_hash hash[BURST_MAX] __attribute__((aligned(64)));
	uint32_t wire_len[BURST_MAX]; /* bytes on the wire without FCS */
	/* Details, filled only where a measurement asks for them (rx/packet/parse_burst.h). */
	int64_t time[BURST_MAX];      /* ns since 1970-01-01 UTC */
	uint8_t tcp_flags[BURST_MAX]; /* 0 where the packet has none */
	/* Filled only where the key of a measurement has one of its fields. */
	struct key_extra extra[BURST_MAX];
	struct key6 key6[BURST_MAX];
	/* Filled only where a measurement asks for it: then has_tcp is set. */
	bool has_tcp;
	struct key_tcp tcp[BURST_MAX];
	/*
	 * Bytes of the frame that are not of its IP packet: the headers before it, padding and trailers
	 * behind it. Filled only where a measurement asks for them: then has_overhead is set.
	 */
	bool has_overhead;
	uint16_t overhead[BURST_MAX];
};

static inline struct key key_burst_get(const struct key_burst *burst, uint32_t i)
{
	struct key key = {.family = KEY_IPV4};

	if (burst->v6 >> i & 1) {
		key.family = KEY_IPV6;
		key.v6 = burst->key6[i];
	} else {
		key.v4 = burst->key4[i];
	}
	return key;
}

/* Entry `to` := entry `from`, but for hash, weight and its bit in v6. */
static inline void key_burst_move(struct key_burst *burst, uint32_t to, uint32_t from)
{
	burst->key4[to] = burst->key4[from];
	if (burst->v6 >> from & 1)
		burst->key6[to] = burst->key6[from];
	burst->wire_len[to] = burst->wire_len[from];
	burst->time[to] = burst->time[from];
	burst->tcp_flags[to] = burst->tcp_flags[from];
	burst->extra[to] = burst->extra[from];
	if (burst->has_tcp)
		burst->tcp[to] = burst->tcp[from];
	if (burst->has_overhead)
		burst->overhead[to] = burst->overhead[from];
}

/*
 * dst := the keys that the rule makes of the packets of src, whose keys are 5-tuples. src->extra is
 * looked at where the rule has one of its fields. Hashes and details are not filled.
 */
void key_burst_mask(
	struct key_burst *dst, const struct key_burst *src, const struct key_rule *rule);

/* Whether two packets that are alike to the one rule are so to the other. */
bool key_rule_is_coarser(const struct key_rule *coarse, const struct key_rule *fine);

/* With TCP and overhead, where src has them. */
void key_burst_copy_details(struct key_burst *dst, const struct key_burst *src);

/*
 * dst := the entries of src whose bits are set, in their order, with their hashes and, where asked
 * for, details (and TCP and overhead, where src has them). Weights are not copied. Bits from src->n
 * on are 0.
 */
void key_burst_pick(
	struct key_burst *dst, const struct key_burst *src, uint64_t entries, bool details);
