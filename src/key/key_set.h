/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What is to be looked into: keys of one rule, as networks are, that were heavy. A list of them that
 * is kept as long as they are wanted, and a set of them that workers look a burst up in. Nobody
 * changes a set while a worker has it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "key/key.h"
#include "key/key_burst.h"

#define NETWORKS_MAX        1024
#define NETWORK_SLOTS       (4 * NETWORKS_MAX)
#define NETWORK_FILTER_BITS (16 * NETWORKS_MAX)
#define NETWORK_PROBES      32

/* Zeroed, it is empty. */
struct key_set {
	uint32_t n;
	/* Of each hash one bit: most that is not in the set ends there. */
	uint64_t filter[NETWORK_FILTER_BITS / 64];
	uint16_t slots[NETWORK_SLOTS]; /* open addressing: number of the key + 1, or 0 */
	struct key_hash hash[NETWORKS_MAX];
	struct key keys[NETWORKS_MAX];
};

void key_set_clear(struct key_set *set);
/* Of a key that is not in it, with its hash. Returns false where it has no room. */
bool key_set_add(struct key_set *set, const struct key *key, struct key_hash hash);
/* Entries of a burst with hashes that are in the set, a bit each. */
uint64_t key_set_find(const struct key_set *set, const struct key_burst *burst);

/* Zeroed, it is empty. */
struct networks {
	uint32_t n;
	struct network {
		struct key key;
		int64_t last; /* ns: the end of the interval in which it was heavy last */
	} of[NETWORKS_MAX];
};

/* Of who looks into such keys: the list, and a set for each generation. */
#define NETWORKS_BYTES (sizeof(struct networks) + 2 * sizeof(struct key_set))

/* At `now` those go that were heavy last more than `stay` ns ago. */
void networks_forget(struct networks *networks, int64_t now, uint64_t stay);
/*
 * It is heavy now. Where the list is full it takes the place of one that was so earlier, the
 * earliest; returns false where there is none.
 */
bool networks_add(struct networks *networks, const struct key *key, int64_t now);
