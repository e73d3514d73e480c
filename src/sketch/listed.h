/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Rows of counters (counter_rows.h) behind a list of the keys that look heavy (candidates.h): a
 * packet is counted in the list where its key is listed, else in the rows. The list is one
 * thread's; the rows may be several threads', as the policy says. So a heavy key, for whose
 * counters threads would compete at every packet, is counted by each of them where nobody else
 * writes.
 *
 * Every packet is counted once. Rows plus lists are the rows that had counted all packets, in any
 * order.
 */

#include <stdbool.h>
#include <stdint.h>

#include "key/key_burst.h"
#include "sketch/candidates.h"
#include "sketch/counter_rows.h"

/* What of a burst went into the rows, for who keeps more of it than they do. */
struct listed_passed {
	uint64_t packets; /* bit i: packet i, all of its weight */
	uint32_t nb_parts;
	/* Of keys that lost their place, and of entries that were listed after some packets. */
	struct candidate_evicted parts[2 * BURST_MAX];
};

/*
 * Counts a burst. One packet after another would leave the same behind, so where bursts are cut
 * does not matter. passed may be NULL.
 */
void listed_add(struct candidates *list, const struct counter_rows *rows,
	const struct key_burst *burst, enum counter_policy policy, struct listed_passed *passed);
void listed_add_weighted(struct candidates *list, const struct counter_rows *rows,
	const struct key_burst *burst, enum counter_policy policy, struct listed_passed *passed);

/* With what is in the rows and in lists[nb_lists]. */
struct sketch_estimate listed_query(const struct candidates *lists, uint32_t nb_lists,
	const struct counter_rows *rows, const struct key_hash *hash);

/* True while the rows hold everything. */
bool listed_nothing(const struct candidates *lists, uint32_t nb_lists);
