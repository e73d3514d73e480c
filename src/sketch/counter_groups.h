/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Adding to shared rows of counters by groups of equal keys. */

#include "sketch/burst_groups.h"
#include "sketch/counter_rows.h"

/*
 * As counter_rows_add_shared(), to the same counters and estimates: on one thread exactly, among
 * several as if the packets of a group had come at once.
 */
void counter_groups_add(const struct counter_rows *rows, const struct key_burst *burst,
	const struct burst_groups *groups, enum sketch_atomic atomic, uint64_t *estimate);
