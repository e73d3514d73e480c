/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/assertion.h"
#include "key/key.h"

/* one bit per packet in a uint64_t */
#define BURST_MAX 64

/* Entry i stands for packets[i] > 0 packets with together bytes[i] bytes, without FCS. */
struct key_weights {
	uint64_t packets[BURST_MAX], bytes[BURST_MAX];
	/* One in 2^shift packets was processed. Weights include this factor. */
	uint32_t shift;
};

/* In host byte order. */
struct key_tcp {
	uint32_t sequence, acknowledgement;
	uint32_t payload; /* bytes, from the lengths in the headers */
	uint16_t window;  /* unscaled */
	bool known;       /* false: not TCP, a fragment, or truncated before the window */
};

/* Each sketch or table takes its indices from other bits. */
struct key_hash {
	uint64_t lo, hi;
};

#define HASH_ROUNDS 4 /* AES rounds */

/*
 * The key of entry i is key6[i] if bit i of v6 is set, else key4[i]; the other of the two is
 * undefined. Bits n and above of v6 are 0.
 */
struct key_burst {
	uint32_t n;
	uint32_t writer; /* index of the updating thread among the threads that share a sketch */
	uint64_t v6;
	/* Weighted updates read it instead of wire_len. */
	struct key_weights *weights;
	struct key4 key4[BURST_MAX] __attribute__((aligned(64)));
	struct key_hash hash[BURST_MAX] __attribute__((aligned(64)));
	uint32_t wire_len[BURST_MAX]; /* bytes on the wire without FCS */
	/* Filled only if a measurement needs them: time and tcp_flags. */
	int64_t time[BURST_MAX]; /* ns since 1970-01-01 UTC */
	uint8_t tcp_flags[BURST_MAX];
	/* Filled only if a key has a field of struct key_extra. */
	struct key_extra extra[BURST_MAX];
	struct key6 key6[BURST_MAX];
	/* Filled only if has_tcp. */
	bool has_tcp;
	struct key_tcp tcp[BURST_MAX];
	/* Headers, padding and trailers outside the IP packet. Filled only if has_overhead. */
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

/* Does not copy the hash, the weight and the bit in v6. */
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

/* Builds the keys of the rule from src, a burst of 5-tuples. Does not fill hashes and details. */
void key_burst_mask(
	struct key_burst *dst, const struct key_burst *src, const struct key_rule *rule);

/* Returns true if packets with equal keys under `fine` also have equal keys under `coarse`. */
bool key_rule_is_coarser(const struct key_rule *coarse, const struct key_rule *fine);

/* Copies time and TCP flags, and tcp[] and overhead[] if src has them. */
void key_burst_copy_details(struct key_burst *dst, const struct key_burst *src);

/*
 * Copies the entries with a bit in `entries`, in order, without weights. Bits src->n and above
 * must be 0. `details`: also calls key_burst_copy_details().
 */
void key_burst_pick(
	struct key_burst *dst, const struct key_burst *src, uint64_t entries, bool details);
