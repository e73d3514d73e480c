/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Sets of heavy keys. No thread changes a set while a worker uses it. */

#include <stdbool.h>
#include <stdint.h>

#include "key/key.h"
#include "key/key_burst.h"

#define KEY_SET_MAX         1024
#define KEY_SET_SLOTS       (4 * KEY_SET_MAX)
#define KEY_SET_FILTER_BITS (16 * KEY_SET_MAX)
#define KEY_SET_PROBES      32

/* A zeroed set is empty. */
struct key_set {
	uint32_t n;
	/* One bit per hash. Excludes most other keys without access to slots[]. */
	uint64_t filter[KEY_SET_FILTER_BITS / 64];
	uint16_t slots[KEY_SET_SLOTS]; /* open addressing: index of the key + 1, or 0 */
	struct key_hash hash[KEY_SET_MAX];
	struct key keys[KEY_SET_MAX];
};

void key_set_clear(struct key_set *set);
/* The key must not be in the set. Returns false if the set is full. */
bool key_set_add(struct key_set *set, const struct key *key, struct key_hash hash);
/* Returns the entries whose keys are in the set, one bit each. */
uint64_t key_set_find(const struct key_set *set, const struct key_burst *burst);

/* A zeroed list is empty. */
struct heavy_keys {
	uint32_t n;
	struct heavy_key {
		struct key key;
		int64_t last; /* end of the last interval in which the key was heavy, in ns */
	} of[KEY_SET_MAX];
};

/* A list, and one set each for the current and the previous interval. */
#define HEAVY_KEYS_BYTES (sizeof(struct heavy_keys) + 2 * sizeof(struct key_set))

/* Removes keys that were last heavy more than `stay` ns before `now`. */
void heavy_keys_forget(struct heavy_keys *heavy, int64_t now, uint64_t stay);
/* If the list is full, replaces the key that was heavy longest ago, or returns false. */
bool heavy_keys_add(struct heavy_keys *heavy, const struct key *key, int64_t now);
