/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/assertion.h"
#include "key/key.h"

/* Packets per burst: at most 64, one bit each in a uint64_t. */
#define BURST_MAX 64

/*
 * Weights of a burst whose entries stand for several packets each. Entry i stands for packets[i]
 * packets with bytes[i] bytes on the wire, without FCS. Its packets are treated as equally long, in
 * whole bytes. Sketches receive no entry of 0 packets.
 */
struct key_weights {
	uint64_t packets[BURST_MAX], bytes[BURST_MAX];
	/*
	 * Sampling: one in 2^shift packets was processed. The weight of an entry includes this
	 * factor.
	 */
	uint32_t shift;
};

/* TCP fields of a segment, in host byte order. */
struct key_tcp {
	uint32_t sequence, acknowledgement;
	uint32_t payload; /* bytes, computed from the lengths in the headers */
	uint16_t window;  /* unscaled */
	bool known;       /* false: not TCP, a fragment, or truncated before the window */
};

/* 128-bit hash of a key. Each sketch or table takes its indices from other bits of it. */
struct key_hash {
	uint64_t lo, hi;
};

#define HASH_ROUNDS 4 /* AES rounds per hash (key/hash.h) */

/*
 * Burst of packets as sketches receive it: a structure of arrays, in packet order.
 *
 * The key of entry i is key6[i] if bit i of v6 is set, else key4[i]. The other of the two is
 * undefined, so that a burst of IPv4 packets never touches key6. Bits n and above of v6 are 0. If
 * the keys are 5-tuples, v6 marks IPv6 packets. Under other rules it marks keys that are stored in
 * a struct key6 (key/key.h).
 */
struct key_burst {
	uint32_t n;
	uint32_t writer; /* index of the updating thread among the threads that share a sketch */
	uint64_t v6;
	/* Read only by weighted updates, which ignore wire_len. */
	struct key_weights *weights;
	struct key4 key4[BURST_MAX] __attribute__((aligned(64)));
	struct key_hash hash[BURST_MAX] __attribute__((aligned(64)));
	uint32_t wire_len[BURST_MAX]; /* bytes on the wire without FCS */
	/* Details, filled only if a measurement needs them (rx/packet/parse_burst.h). */
	int64_t time[BURST_MAX];      /* ns since 1970-01-01 UTC */
	uint8_t tcp_flags[BURST_MAX]; /* 0 if the packet has none */
	/* Filled only if the key of a measurement has a field of struct key_extra. */
	struct key_extra extra[BURST_MAX];
	struct key6 key6[BURST_MAX];
	/* Filled only if a measurement needs TCP fields. has_tcp is then true. */
	bool has_tcp;
	struct key_tcp tcp[BURST_MAX];
	/*
	 * Bytes of each frame outside its IP packet: headers, padding and trailers. Filled only if
	 * a measurement needs them. has_overhead is then true.
	 */
	bool has_overhead;
	uint16_t overhead[BURST_MAX];
};

static inline struct key key_burst_get(const struct key_burst *burst, uint32_t i)
{
	struct key key = {.family = KEY_IPV4};

	ASSERT(i, <, (uint32_t)BURST_MAX);
	if (burst->v6 >> i & 1) {
		key.family = KEY_IPV6;
		key.v6 = burst->key6[i];
	} else {
		key.v4 = burst->key4[i];
	}
	return key;
}

/* Copies entry `from` to `to`, except its hash, its weight and its bit in v6. */
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
 * Fills dst with the keys that the rule builds from src, a burst of 5-tuples. Reads src->extra only
 * if the rule has a field of struct key_extra. Does not fill hashes and details.
 */
void key_burst_mask(
	struct key_burst *dst, const struct key_burst *src, const struct key_rule *rule);

/* Returns true if packets with equal keys under `fine` also have equal keys under `coarse`. */
bool key_rule_is_coarser(const struct key_rule *coarse, const struct key_rule *fine);

/* Copies time and TCP flags, and also tcp[] and overhead[] if src has them. */
void key_burst_copy_details(struct key_burst *dst, const struct key_burst *src);

/*
 * Copies the entries of src whose bits are set in `entries` to dst, in order and without gaps.
 * Copies hashes, but no weights. `details`: also copies time, TCP flags, and tcp[] and overhead[]
 * if src has them. Bits src->n and above must be 0.
 */
void key_burst_pick(
	struct key_burst *dst, const struct key_burst *src, uint64_t entries, bool details);
