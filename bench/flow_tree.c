/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Flow table whose buckets have an AVL tree (Adelson-Velsky and Landis 1962), so that an attack on
 * one bucket costs only logarithmic time. `next` of the first entry is the root; `next` of a node
 * is its left child. Nodes are ordered by id, then by IPv6 key. Single-threaded: a rotation would
 * disturb readers.
 */

#include "bench/flow_tree.h"

#include "base/assertion.h"

static int compare_words(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

#define HEIGHT_MAX 44 /* height of a tree with 2^30 nodes */

/* key6 is used only if the node is IPv6. */
static int compare(const struct flow_table *table, const struct flow_id *id,
	const struct key6 *key6, uint32_t node)
{
	const struct flow_id *other = &table->entries[node].id;
	int order = compare_words(id->lo, other->lo);

	if (order == 0)
		order = compare_words(id->hi, other->hi);
	if (order == 0 && flow_id_family(other) == KEY_IPV6)
		order = memcmp(key6, &table->key6[node], sizeof(*key6));
	return order;
}

static int height(const struct flow_table *table, uint32_t node)
{
	return node == 0 ? 0 : *flow_tree_height(&table->entries[node]);
}

static void measure(struct flow_table *table, uint32_t node)
{
	int left = height(table, flow_next(table, node));
	int right = height(table, *flow_tree_right(&table->entries[node]));

	ASSERT(left - right, <=, 2);
	ASSERT(right - left, <=, 2);
	*flow_tree_height(&table->entries[node]) = (uint8_t)(1 + (left > right ? left : right));
}

/* Returns the new root of the subtree, the former left child of `node`. */
static uint32_t rotate_right(struct flow_table *table, uint32_t node)
{
	uint32_t up = flow_next(table, node);

	flow_set_next(table, node, *flow_tree_right(&table->entries[up]));
	*flow_tree_right(&table->entries[up]) = node;
	measure(table, node);
	measure(table, up);
	return up;
}

static uint32_t rotate_left(struct flow_table *table, uint32_t node)
{
	uint32_t up = *flow_tree_right(&table->entries[node]);

	*flow_tree_right(&table->entries[node]) = flow_next(table, up);
	flow_set_next(table, up, node);
	measure(table, node);
	measure(table, up);
	return up;
}

/* Returns the height of the left subtree minus that of the right. */
static int balance_of(const struct flow_table *table, uint32_t node)
{
	return height(table, flow_next(table, node)) -
	       height(table, *flow_tree_right(&table->entries[node]));
}

static uint32_t rebalance(struct flow_table *table, uint32_t node)
{
	int balance = balance_of(table, node);

	if (balance > 1) {
		if (balance_of(table, flow_next(table, node)) < 0)
			flow_set_next(table, node, rotate_left(table, flow_next(table, node)));
		return rotate_right(table, node);
	}
	if (balance < -1) {
		uint32_t right = *flow_tree_right(&table->entries[node]);

		if (balance_of(table, right) > 0)
			*flow_tree_right(&table->entries[node]) = rotate_right(table, right);
		return rotate_left(table, node);
	}
	measure(table, node);
	return node;
}

static uint32_t insert(struct flow_table *table, uint32_t tree, uint32_t node)
{
	int order;

	if (tree == 0)
		return node;
	ASSERT(height(table, tree), <=, HEIGHT_MAX);
	order = compare(table, &table->entries[node].id, &table->key6[node], tree);
	ASSERT(order, !=, 0);
	if (order < 0)
		flow_set_next(table, tree, insert(table, flow_next(table, tree), node));
	else
		*flow_tree_right(&table->entries[tree]) =
			insert(table, *flow_tree_right(&table->entries[tree]), node);
	return rebalance(table, tree);
}

static uint32_t find(struct flow_table *table, const struct key_burst *burst,
	const struct flow_burst *work, uint32_t i)
{
	uint32_t first = work->bucket[i], node = flow_next(table, first);

	while (node != 0) {
		int order = compare(table, &work->id[i], &burst->key6[i], node);

		if (order == 0)
			return node;
		node = order < 0 ? flow_next(table, node) : *flow_tree_right(&table->entries[node]);
	}
	node = flow_take(table);
	if (node == 0)
		return 0;
	flow_fill(table, node, &work->id[i], burst, i);
	flow_set_next(table, node, 0);
	*flow_tree_right(&table->entries[node]) = 0;
	*flow_tree_height(&table->entries[node]) = 1;
	flow_set_stored(table, node);
	flow_set_next(table, first, insert(table, flow_next(table, first), node));
	return node;
}

void flow_tree_update(struct sketch *sketch, const struct key_burst *burst, flow_hash_fn hash)
{
	flow_update_owned(flow_table_of(sketch), burst, hash, find, false);
}
