/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "base/assertion.h"
#include "base/power_of_two.h"
#include "key/key_burst.h"
#include "parallel/plan/plan.h"
#include "parallel/plan/plan_internal.h"
#include "rx/source.h"
#include "sketch/hyperloglog.h"

#define MBUF_STRUCT_BYTES   128
/* object header, and padding to spread objects over memory channels */
#define MBUF_OVERHEAD_BYTES 128
/* other memory of EAL and drivers on a node */
#define EAL_BYTES           ((size_t)64 << 20)

#define MB(bytes) ((bytes) >> 20)

static uint32_t send_entries(const struct plan *plan, uint32_t p)
{
	return plan->forward == FORWARD_OFF ? 0 : plan->ports[plan->ports[p].out].send_entries;
}

/* Returns the mbufs that fill all rings and caches of group g, with a burst in every lcore. */
static uint32_t mbufs_needed(const struct plan *plan, uint32_t g)
{
	const struct plan_group *group = &plan->groups[g];
	uint32_t rings = plan->ring_size > 0 ? group->nb_workers : 0;
	uint32_t lcores =
		1 + group->nb_workers + (plan->replay ? 1 : 0) + (plan->design->rx_core ? 1 : 0);
	uint32_t needed = rings * (plan->ring_size + 2 * BURST_MAX) * plan->frame_mbufs +
			  lcores * 2 * plan->mbuf_cache;

	needed += plan->design->held * plan->frame_mbufs;
	for (uint32_t p = 0; p < plan->nb_ports; p++)
		if (plan->ports[p].group == g)
			needed += group->nb_queues *
				  (plan->ports[p].entries + 2 * BURST_MAX * plan->frame_mbufs +
					  send_entries(plan, p));
	return needed;
}

static size_t ring_bytes(const struct plan *plan, uint32_t g)
{
	const struct plan_group *group = &plan->groups[g];
	size_t entries = plan->ring_size > 0 ? (size_t)group->nb_workers * plan->ring_size : 0;

	for (uint32_t p = 0; p < plan->nb_ports; p++)
		if (plan->ports[p].group == g)
			entries += (size_t)group->nb_queues *
				   (plan->ports[p].entries + send_entries(plan, p));
	return entries * sizeof(void *) * 2 + plan->source.ring_bytes;
}

static bool size_pools(struct plan *plan, const struct config *config, char *error)
{
	plan->packet_bytes = plan->rules.table_bytes;
	for (uint32_t g = 0; g < plan->nb_groups; g++) {
		struct plan_group *group = &plan->groups[g];
		/* A sender has no workers and sets group->mbufs itself. */
		uint32_t needed = plan->nb_workers > 0 ? mbufs_needed(plan, g) : group->mbufs;

		if (plan->nb_ports == 0) {
			group->packet_bytes = ring_bytes(plan, g);
			plan->packet_bytes += group->packet_bytes;
			continue;
		}

		if (plan->nb_workers > 0 && pool_options(config)->mbufs > 0 &&
			pool_options(config)->mbufs < needed) {
			snprintf(error, PLAN_TEXT_MAX,
				"mbufs %u is too small: rings, bursts and caches can use %u; set "
				"it to %u or more",
				pool_options(config)->mbufs, needed, needed);
			return false;
		}
		/* A mempool uses memory best with 2^n - 1 objects. */
		group->mbufs = pool_options(config)->mbufs > 0
				       ? pool_options(config)->mbufs
				       : (uint32_t)power_of_two_at_least(needed) - 1;
		group->packet_bytes =
			(size_t)group->mbufs *
				(MBUF_STRUCT_BYTES + MBUF_OVERHEAD_BYTES + plan->mbuf_room) +
			ring_bytes(plan, g);
		plan->packet_bytes += group->packet_bytes;
	}
	return true;
}

static struct plan_node *node_account(struct plan *plan, int node)
{
	uint32_t n = 0;

	while (n < plan->nb_nodes && plan->nodes[n].node != node)
		n++;
	VERIFY(n, <, PLAN_LCORES_MAX);
	if (n == plan->nb_nodes)
		plan->nodes[plan->nb_nodes++] = (struct plan_node){.node = node};
	return &plan->nodes[n];
}

/* With --sharing shared, only the first worker accounts for the sketch. */
static void add_worker(struct plan *plan, const struct plan_lcore *lcore)
{
	struct plan_node *node = node_account(plan, lcore->node);

	node->rule_bytes += plan->rules.worker_bytes + plan->policy.worker_bytes +
			    plan_digest_ring_bytes(plan->digest_ring);
	for (uint32_t m = 0; m < plan->nb_measurements; m++) {
		const struct plan_measurement *measurement = &plan->measurements[m];

		node->sketch_bytes += sizeof(struct hyperloglog) * PLAN_GENERATIONS;
		if (plan_instance(plan, lcore->worker) == lcore->worker)
			node->sketch_bytes += measurement->instance_bytes * PLAN_GENERATIONS;
	}
}

static void add_up_nodes(struct plan *plan)
{
	size_t of_reporter = plan->rules.ordinary_bytes + plan->source.bytes + plan->policy.bytes +
			     plan->query_bytes;

	plan->nb_nodes = 0;
	plan->sketch_bytes = plan->rule_bytes = 0;
	plan->digest_bytes = plan->nb_workers * plan_digest_ring_bytes(plan->digest_ring);
	for (uint32_t g = 0; g < plan->nb_groups; g++)
		node_account(plan, plan->groups[g].memory_node)->packet_bytes +=
			plan->groups[g].packet_bytes;
	if (plan->nb_groups > 0)
		node_account(plan, plan->groups[0].memory_node)->packet_bytes +=
			plan->rules.table_bytes;
	for (uint32_t i = 0; i < plan->nb_lcores; i++)
		if (plan->lcores[i].role == PLAN_WORKER)
			add_worker(plan, &plan->lcores[i]);
	/* The reporter merges the sketches and HyperLogLogs of the workers into its own. */
	for (uint32_t m = 0; m < plan->nb_measurements; m++)
		node_account(plan, plan->lcores[0].node)->sketch_bytes +=
			(size_t)(plan->measurements[m].merged + plan->measurements[m].changes) *
				plan->measurements[m].instance_bytes +
			plan->measurements[m].listing_bytes + sizeof(struct hyperloglog) +
			plan->measurements[m].drill_down_bytes;
	if (of_reporter > 0)
		node_account(plan, plan->lcores[0].node)->rule_bytes += of_reporter;
	for (uint32_t n = 0; n < plan->nb_nodes; n++) {
		plan->sketch_bytes += plan->nodes[n].sketch_bytes;
		plan->rule_bytes += plan->nodes[n].rule_bytes;
	}
}

static uint64_t free_hugepages(const struct topology *topology, int node)
{
	uint64_t bytes = 0;

	for (int n = 0; n < TOPOLOGY_NODES_MAX; n++)
		if (node == PLAN_NODE_ANY || n == node)
			bytes += topology->nodes[n].free_hugepages;
	return bytes;
}

size_t plan_ordinary_bytes(const struct plan *plan, const struct plan_node *node)
{
	return node->sketch_bytes + node->rule_bytes + (plan->hugepages ? 0 : node->packet_bytes);
}

size_t plan_hugepage_bytes(const struct plan_node *node)
{
	return node->packet_bytes > 0 ? 2 * node->packet_bytes + EAL_BYTES : 0;
}

static void choose_pages(
	struct plan *plan, const struct config *config, const struct topology *topology)
{
	plan->hugepages = !hugepages_options(config)->no_huge;
	plan->no_hugepages[0] = '\0';
	if (hugepages_options(config)->no_huge)
		snprintf(plan->no_hugepages, PLAN_TEXT_MAX, "--no-huge");
	if (plan->nb_ports == 0) {
		plan->hugepages = false;
		snprintf(plan->no_hugepages, PLAN_TEXT_MAX, "%s", plan->source.no_packets);
	}
	for (uint32_t n = 0; n < plan->nb_nodes && plan->hugepages; n++) {
		const struct plan_node *node = &plan->nodes[n];
		uint64_t needed = plan_hugepage_bytes(node);
		uint64_t there = free_hugepages(topology, node->node);
		char name[32] = "the machine";

		if (there >= needed)
			continue;
		plan->hugepages = false;
		if (node->node != PLAN_NODE_ANY)
			snprintf(name, sizeof(name), "NUMA node %d", node->node);
		snprintf(plan->no_hugepages, PLAN_TEXT_MAX,
			"%s has %llu MB of free hugepages, and %llu MB are needed", name,
			(unsigned long long)MB(there), (unsigned long long)MB(needed) + 1);
	}
}

/* only_sketches: the instance is running, so only sketches are still to be allocated. */
static void warn_full_nodes(struct plan *plan, const struct topology *topology, bool only_sketches)
{
	for (uint32_t n = 0; n < plan->nb_nodes; n++) {
		const struct plan_node *node = &plan->nodes[n];
		size_t needed =
			only_sketches ? node->sketch_bytes : plan_ordinary_bytes(plan, node);
		uint64_t there;

		if (node->node < 0 || node->node >= TOPOLOGY_NODES_MAX)
			continue;
		there = topology->nodes[node->node].free_memory;
		if (there > 0 && needed > there)
			plan_warn(plan,
				"NUMA node %d has %llu MB of free memory for the %llu MB planned "
				"on it: the rest will be on other nodes",
				node->node, (unsigned long long)MB(there),
				(unsigned long long)MB(needed));
	}
}

static bool check_memory(struct plan *plan, const struct topology *topology, char *error)
{
	size_t packets = plan->hugepages ? 0 : plan->packet_bytes;
	size_t needed = packets + plan->sketch_bytes + plan->rule_bytes;

	char others[160] = "";

	if (plan->source.bytes > 0)
		snprintf(others, sizeof(others), ", %s %llu MB (lower %s)", plan->source.user,
			(unsigned long long)MB(plan->source.bytes), plan->source.less);
	if (topology->memory > 0 && needed > topology->memory)
		return plan_set_error(plan, error,
			"%llu MB of memory are needed and %llu MB are available: mbufs, rings and "
			"tables of DPDK %llu MB (lower mbufs, descriptors or --workers), "
			"sketches %llu MB (lower --width, --memory or --workers), rules in "
			"ordinary memory %llu MB%s",
			(unsigned long long)MB(needed), (unsigned long long)MB(topology->memory),
			(unsigned long long)MB(packets), (unsigned long long)MB(plan->sketch_bytes),
			(unsigned long long)MB(plan_bytes_of_rules(plan)), others);
	warn_full_nodes(plan, topology, false);
	return true;
}

bool plan_memory(struct plan *plan, const struct config *config, const struct topology *topology,
	char *error)
{
	if (!size_pools(plan, config, error))
		return false;
	add_up_nodes(plan);
	choose_pages(plan, config, topology);
	return check_memory(plan, topology, error);
}

bool plan_memory_beside(struct plan *plan, const struct topology *topology, char *error)
{
	plan->packet_bytes = plan->rules.table_bytes;
	for (uint32_t g = 0; g < plan->nb_groups; g++)
		plan->packet_bytes += plan->groups[g].packet_bytes;
	add_up_nodes(plan);
	if (topology->memory > 0 && plan->sketch_bytes > topology->memory)
		return plan_set_error(plan, error,
			"%llu MB of memory are needed for new sketches in addition to running ones, "
			"and %llu MB are free: lower width or memory",
			(unsigned long long)MB(plan->sketch_bytes),
			(unsigned long long)MB(topology->memory));
	warn_full_nodes(plan, topology, true);
	return true;
}

static const struct option_row pool_rows[] = {
	{
		.name = "mbufs",
		.placeholder = "N",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_COUNT,
		.rare = true,
		.not_for = SOURCE_OF_ITSELF,
		OPTION_FIELD(pool_options, mbufs),
		.min = 512,
		.max = UINT64_C(1) << 26,
		.default_note = "computed from rings and workers",
		.config_only = true,
		.help = "Set the number of packet buffers per NUMA node with ports.",
	},
	{0},
};

const struct option_owner pool_owner = {
	.rows = pool_rows,
	.size = sizeof(struct pool_options),
};

static const struct option_row hugepages_rows[] = {
	{
		.name = "no-huge",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_FLAG,
		OPTION_FIELD(hugepages_options, no_huge),
		.help = "Run without hugepages. DPDK then allocates all its memory on one NUMA node.",
	},
	{0},
};

const struct option_owner hugepages_owner = {
	.rows = hugepages_rows,
	.size = sizeof(struct hugepages_options),
};
