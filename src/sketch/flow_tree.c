/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The entries of a bucket behind its first one as an AVL tree (Adelson-Velsky and Landis 1962): who
 * aims keys at one bucket pays for a logarithm of them. The first entry's `next` is the root; a
 * node's `next` is its left child. Ordered by id, and by the IPv6 keys where two have the same id.
 *
 * One thread only: a rotation moves nodes from under whoever walks there.
 */

#include "sketch/flow_owned.h"

static int compare_words(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Of a key that is filled in, and a node. */
static int compare(const struct flow_table *table, const struct flow_id *id,
	const struct key6 *key6, uint32_t node)
{
	const struct flow_id *other = &table->entries[node].id;
	int order = compare_words(id->lo, other->lo);

	if (order == 0)
		order = compare_words(id->hi, other->hi);
	if (order == 0 && flow_family(&table->entries[node]) == KEY_IPV6)
		order = memcmp(key6, &table->key6[node], sizeof(*key6));
	return order;
}

static int height(const struct flow_table *table, uint32_t node)
{
	return node == 0 ? 0 : table->entries[node].height;
}

static void measure(struct flow_table *table, uint32_t node)
{
	int left = height(table, flow_next(table, node));
	int right = height(table, table->entries[node].right);

	table->entries[node].height = (uint8_t)(1 + (left > right ? left : right));
}

/* Returns the node that takes the place of the given one, whose left child it was. */
static uint32_t rotate_right(struct flow_table *table, uint32_t node)
{
	uint32_t up = flow_next(table, node);

	flow_set_next(table, node, table->entries[up].right);
	table->entries[up].right = node;
	measure(table, node);
	measure(table, up);
	return up;
}

static uint32_t rotate_left(struct flow_table *table, uint32_t node)
{
	uint32_t up = table->entries[node].right;

	table->entries[node].right = flow_next(table, up);
	flow_set_next(table, up, node);
	measure(table, node);
	measure(table, up);
	return up;
}

/* Left minus right. */
static int balance_of(const struct flow_table *table, uint32_t node)
{
	return height(table, flow_next(table, node)) - height(table, table->entries[node].right);
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
		uint32_t right = table->entries[node].right;

		if (balance_of(table, right) > 0)
			table->entries[node].right = rotate_right(table, right);
		return rotate_left(table, node);
	}
	measure(table, node);
	return node;
}

/* Puts a filled node, which is not there, into a tree. As deep as the tree: 44 for 2^30 nodes. */
static uint32_t insert(struct flow_table *table, uint32_t tree, uint32_t node)
{
	if (tree == 0)
		return node;
	if (compare(table, &table->entries[node].id, &table->key6[node], tree) < 0)
		flow_set_next(table, tree, insert(table, flow_next(table, tree), node));
	else
		table->entries[tree].right = insert(table, table->entries[tree].right, node);
	return rebalance(table, tree);
}

/* Takes the leftmost node out of a tree that has one. Returns what is left of the tree. */
static uint32_t remove_least(struct flow_table *table, uint32_t tree, uint32_t *least)
{
	uint32_t left = flow_next(table, tree);

	if (left == 0) {
		*least = tree;
		return table->entries[tree].right;
	}
	flow_set_next(table, tree, remove_least(table, left, least));
	return rebalance(table, tree);
}

/* Takes out the root of a tree: the least of its right half takes its place. */
static uint32_t remove_root(struct flow_table *table, uint32_t tree)
{
	uint32_t left = flow_next(table, tree), right = table->entries[tree].right, least;

	if (right == 0)
		return left;
	right = remove_least(table, right, &least);
	flow_set_next(table, least, left);
	table->entries[least].right = right;
	return rebalance(table, least);
}

/* Takes out a node of a tree. */
static uint32_t remove_node(struct flow_table *table, uint32_t tree, uint32_t node)
{
	if (tree == node)
		return remove_root(table, tree);
	if (compare(table, &table->entries[node].id, &table->key6[node], tree) < 0)
		flow_set_next(table, tree, remove_node(table, flow_next(table, tree), node));
	else
		table->entries[tree].right = remove_node(table, table->entries[tree].right, node);
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
		node = order < 0 ? flow_next(table, node) : table->entries[node].right;
	}
	node = flow_take(table);
	if (node == 0)
		return 0;
	flow_fill(table, node, &work->id[i], burst, i);
	flow_set_next(table, node, 0);
	table->entries[node].right = 0;
	table->entries[node].height = 1;
	table->entries[node].bucket = first;
	flow_set_stored(table, node);
	flow_set_next(table, first, insert(table, flow_next(table, first), node));
	return node;
}

static void update_owned(struct flow_table *table, const struct key_burst *burst)
{
	flow_update_owned(table, burst, find, false);
}

static void update_owned_weighted(struct flow_table *table, const struct key_burst *burst)
{
	flow_update_owned(table, burst, find, true);
}

static void update_idle(struct flow_table *table, const struct key_burst *burst)
{
	flow_update_idle(table, burst, find, false);
}

static void update_idle_weighted(struct flow_table *table, const struct key_burst *burst)
{
	flow_update_idle(table, burst, find, true);
}

static void remove_owned(struct flow_table *table, uint32_t entry)
{
	uint32_t tree, from = 0;

	if (entry < table->nb_buckets) {
		tree = flow_next(table, entry);
		if (tree != 0)
			tree = remove_least(table, tree, &from);
		flow_replace_first(table, entry, from, tree);
		return;
	}
	tree = flow_next(table, table->entries[entry].bucket);
	flow_set_next(table, table->entries[entry].bucket, remove_node(table, tree, entry));
	flow_return(table, entry);
}

const struct flow_store flow_store_tree = {
	.name = "tree",
	.update = {[SHARING_SEPARATE] = update_owned},
	.update_weighted = {[SHARING_SEPARATE] = update_owned_weighted},
	.update_idle = update_idle,
	.update_idle_weighted = update_idle_weighted,
	.remove = remove_owned,
};
