/* SPDX-License-Identifier: BSD-3-Clause */

#include "collect/dedup/path.h"

#include "base/assertion.h"

#define NO_NODE UINT32_MAX

/* An exporter on the path, with its hops merged. */
struct node {
	struct path_hop hop;
	uint32_t next; /* next exporter */
	bool enters, leaves, placed;
};

struct way {
	struct node nodes[PATH_HOPS_MAX];
	uint32_t nb;
};

static struct node *node_of(struct way *way, uint32_t exporter)
{
	for (uint32_t i = 0; i < way->nb; i++) {
		if (way->nodes[i].hop.exporter == exporter)
			return &way->nodes[i];
	}
	way->nodes[way->nb] = (struct node){.hop.exporter = exporter, .next = EXPORTER_NONE};
	return &way->nodes[way->nb++];
}

/* Prefers the input of ingress records and the output of egress records. */
static void merge(struct node *node, const struct hop *hop)
{
	if (hop->input && (!node->hop.input || hop->side == OBSERVED_INGRESS))
		node->hop.input = hop->input;
	if (hop->output && (!node->hop.output || hop->side == OBSERVED_EGRESS))
		node->hop.output = hop->output;
	if (hop->next != EXPORTER_NONE && hop->next != hop->exporter)
		node->next = hop->next;
	node->enters |= (hop->flags & OBSERVATION_ENTERS) != 0;
	node->leaves |= (hop->flags & OBSERVATION_LEAVES) != 0;
}

static bool has_predecessor(const struct way *way, uint32_t i)
{
	for (uint32_t k = 0; k < way->nb; k++) {
		if (!way->nodes[k].placed && way->nodes[k].next == way->nodes[i].hop.exporter)
			return true;
	}
	return false;
}

static uint32_t next_node(const struct way *way, uint32_t i)
{
	for (uint32_t k = 0; k < way->nb && way->nodes[i].next != EXPORTER_NONE; k++) {
		if (!way->nodes[k].placed && way->nodes[k].hop.exporter == way->nodes[i].next)
			return k;
	}
	return NO_NODE;
}

/* Returns true if next hops lead from here to the egress edge. */
static bool chain_leaves(const struct way *way, uint32_t i)
{
	for (uint32_t steps = 0; steps < way->nb && i != NO_NODE; steps++) {
		if (way->nodes[i].leaves)
			return true;
		i = next_node(way, i);
	}
	return false;
}

/*
 * Returns the sort rank: first ingress edges, nodes without predecessor, nodes that are not egress
 * edges.
 */
static uint32_t rank(const struct way *way, uint32_t i)
{
	uint32_t rank = way->nodes[i].enters ? 0 : 1;

	rank = rank * 2 + has_predecessor(way, i);
	return rank * 2 + (!way->nodes[i].enters && chain_leaves(way, i));
}

static uint32_t first_of_rest(const struct way *way)
{
	uint32_t best = NO_NODE, least = UINT32_MAX;

	for (uint32_t i = 0; i < way->nb; i++) {
		if (!way->nodes[i].placed && rank(way, i) < least) {
			least = rank(way, i);
			best = i;
		}
	}
	return best;
}

/* Order between chains of next hops. */
struct chains {
	uint32_t nb, enter, leave;
	bool loops;
};

static bool is_known(const struct chains *chains)
{
	uint32_t pinned = chains->enter + chains->leave;

	if (chains->loops || chains->enter > 1 || chains->leave > 1)
		return false;
	return chains->nb <= 1 || chains->nb - pinned <= 1;
}

static uint32_t insert_chain(
	struct way *way, uint32_t i, struct path_hop *path, uint32_t n, struct chains *chains)
{
	bool enters = way->nodes[i].enters, leaves = false;

	chains->loops |= has_predecessor(way, i);
	for (; i != NO_NODE; i = next_node(way, i)) {
		way->nodes[i].placed = true;
		leaves |= way->nodes[i].leaves;
		path[n++] = way->nodes[i].hop;
	}
	chains->nb++;
	/* A chain from ingress to egress is the whole path, or contradicts the others. */
	chains->enter += enters;
	chains->leave += leaves && !enters;
	chains->loops |= enters && leaves && chains->nb > 1;
	return n;
}

uint32_t path_order(const struct hop *const *hops, uint32_t n, struct path_hop *path, bool *ordered)
{
	struct way way = {.nb = 0};
	struct chains chains = {0};
	uint32_t placed = 0;

	ASSERT(n, <=, PATH_HOPS_MAX);
	for (uint32_t i = 0; i < n && i < PATH_HOPS_MAX; i++)
		merge(node_of(&way, hops[i]->exporter), hops[i]);
	while (placed < way.nb)
		placed = insert_chain(&way, first_of_rest(&way), path, placed, &chains);
	*ordered = is_known(&chains);
	return placed;
}
