/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A list of heavy keys per thread, in front of rows of counters that several threads may share.
 * Every packet is counted once.
 */

#include <stdbool.h>
#include <stdint.h>

#include "key/key_burst.h"
#include "sketch/candidates.h"
#include "sketch/counter_rows.h"

/* Packets and amounts of a burst that were added to the rows. */
struct listed_passed {
	uint64_t packets; /* bit i: packet i, with its whole weight */
	uint32_t nb_parts;
	/* Evicted keys, and the packets of an entry before its key was listed. */
	struct candidate_evicted parts[2 * BURST_MAX];
};

/* The result is that of counting packet by packet. `passed` may be NULL. */
void listed_add(struct candidates *list, const struct counter_rows *rows,
	const struct key_burst *burst, enum counter_policy policy, struct listed_passed *passed);
void listed_add_weighted(struct candidates *list, const struct counter_rows *rows,
	const struct key_burst *burst, enum counter_policy policy, struct listed_passed *passed);

struct sketch_estimate listed_query(const struct candidates *lists, uint32_t nb_lists,
	const struct counter_rows *rows, const struct key_hash *hash);

/* If no key is listed, the rows hold every packet. */
bool listed_nothing(const struct candidates *lists, uint32_t nb_lists);
