/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Sets of heavy keys, such as networks with much traffic, for drill-down: a measurement that counts
 * only packets of these keys. struct heavy_keys lists the keys and when they were last heavy.
 * Workers look up packets in a struct key_set. No thread changes a set while a worker uses it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "key/key.h"
#include "key/key_burst.h"

#define KEY_SET_MAX         1024
#define KEY_SET_SLOTS       (4 * KEY_SET_MAX)
#define KEY_SET_FILTER_BITS (16 * KEY_SET_MAX)
#define KEY_SET_PROBES      32

/* Zeroed, it is empty. */
struct key_set {
	uint32_t n;
	/*
	 * One bit per hash. Excludes most keys that are not in the set, without access to slots[].
	 */
	uint64_t filter[KEY_SET_FILTER_BITS / 64];
	uint16_t slots[KEY_SET_SLOTS]; /* open addressing: index of the key + 1, or 0 */
	struct key_hash hash[KEY_SET_MAX];
	struct key keys[KEY_SET_MAX];
};

void key_set_clear(struct key_set *set);
/* Adds a key, which must not be in the set, with its hash. Returns false if the set is full. */
bool key_set_add(struct key_set *set, const struct key *key, struct key_hash hash);
/* Returns the entries of the burst whose keys are in the set, one bit each. */
uint64_t key_set_find(const struct key_set *set, const struct key_burst *burst);

/* Zeroed, it is empty. */
struct heavy_keys {
	uint32_t n;
	struct heavy_key {
		struct key key;
		int64_t last; /* end of the last interval in which the key was heavy, in ns */
	} of[KEY_SET_MAX];
};

/*
 * Memory of a drill-down: the list, and a set for each of two epochs (the current and the
 * previous).
 */
#define HEAVY_KEYS_BYTES (sizeof(struct heavy_keys) + 2 * sizeof(struct key_set))

/* Removes keys that were last heavy more than `stay` ns before `now`. */
void heavy_keys_forget(struct heavy_keys *heavy, int64_t now, uint64_t stay);
/*
 * Adds a key that is heavy now. In a full list, replaces the key that was heavy longest ago.
 * Returns false if all keys in the full list are heavy now.
 */
bool heavy_keys_add(struct heavy_keys *heavy, const struct key *key, int64_t now);
