/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Groups the packets of a burst by key. The first packet of a group is its leader, the others are
 * followers. If another key occupies the slot of a key, each of the key's packets is a leader.
 */

#include <stdint.h>
#include <string.h>

#include "base/assertion.h"
#include "key/key_burst.h"

#define GROUP_SLOT_BITS 9

/* One bit per packet. */
struct burst_groups {
	uint64_t leaders, followers;
	uint8_t leader[BURST_MAX]; /* leader of packet i */
};

static inline uint32_t mask_next(uint64_t *mask)
{
	uint32_t i = (uint32_t)__builtin_ctzll(*mask);

	ASSERT(*mask, !=, 0u);
	*mask &= *mask - 1;
	return i;
}

static inline void burst_groups_find(struct burst_groups *groups, const struct key_burst *burst)
{
	const struct key_hash *const hash = burst->hash;
	const uint32_t n = burst->n;
	uint8_t slots[1 << GROUP_SLOT_BITS];
	uint64_t followers = 0;

	memset(slots, UINT8_MAX, sizeof(slots));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t slot = (uint32_t)(hash[i].hi >> (64 - GROUP_SLOT_BITS));
		uint32_t first = slots[slot] < i ? slots[slot] : i;
		uint64_t differ = (hash[first].lo ^ hash[i].lo) | (hash[first].hi ^ hash[i].hi);
		uint32_t leader = differ == 0 ? first : i;

		slots[slot] = (uint8_t)first;
		groups->leader[i] = (uint8_t)leader;
		followers |= (uint64_t)(leader != i) << i;
	}
	groups->followers = followers;
	groups->leaders = (n < BURST_MAX ? (UINT64_C(1) << n) - 1 : UINT64_MAX) & ~followers;
}
