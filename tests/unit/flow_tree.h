/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* A look at the trees of a flow table. Comes after cmocka.h. */

#include "sketch/flow_table.h"

/* Height of a tree of the table, of which every node is balanced. */
static inline int check_tree(const struct flow_table *table, uint32_t node)
{
	const struct flow_entry *e = &table->entries[node];
	int left, right;

	if (node == 0)
		return 0;
	left = check_tree(table, e->next);
	right = check_tree(table, e->right);
	assert_in_range(left - right + 1, 0, 2);
	assert_int_equal(e->height, 1 + (left > right ? left : right));
	return e->height;
}
