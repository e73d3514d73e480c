/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * List of heavy keys (candidates.h) in front of rows of counters (counter_rows.h). A packet of a
 * listed key is counted in the list, all other packets in the rows.
 *
 * Each list belongs to one thread. Several threads may share the rows. Each thread then counts a
 * heavy key in its own memory, so that threads do not compete for the key's counters at every
 * packet.
 *
 * Every packet is counted once. Rows plus lists equal rows that have counted all packets, in any
 * order.
 */

#include <stdbool.h>
#include <stdint.h>

#include "key/key_burst.h"
#include "sketch/candidates.h"
#include "sketch/counter_rows.h"

/* Packets of a burst that were added to the rows, for a caller that counts them elsewhere too. */
struct listed_passed {
	uint64_t packets; /* bit i: packet i, with its whole weight */
	uint32_t nb_parts;
	/*
	 * Amounts of evicted keys, and of the packets of an entry that came before its key was
	 * listed.
	 */
	struct candidate_evicted parts[2 * BURST_MAX];
};

/*
 * Count a burst, with the same result as packet by packet, so that burst boundaries do not matter.
 * `passed` may be NULL.
 */
void listed_add(struct candidates *list, const struct counter_rows *rows,
	const struct key_burst *burst, enum counter_policy policy, struct listed_passed *passed);
void listed_add_weighted(struct candidates *list, const struct counter_rows *rows,
	const struct key_burst *burst, enum counter_policy policy, struct listed_passed *passed);

/* Returns the estimate of a key from the rows and lists[nb_lists]. */
struct sketch_estimate listed_query(const struct candidates *lists, uint32_t nb_lists,
	const struct counter_rows *rows, const struct key_hash *hash);

/* Returns true if no key is listed, so that the rows hold every packet. */
bool listed_nothing(const struct candidates *lists, uint32_t nb_lists);
