/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Gives each lcore the free CPU with the lowest rank (RANK_*). A first pass assigns only whole
 * cores on the NUMA node of an lcore's group, so that no other group takes them.
 */

#include <string.h>

#include "parallel/plan/plan.h"
#include "parallel/plan/plan_internal.h"

struct core_allocator {
	const struct topology *topology;
	bool isolating;
	uint32_t nb_cores;
	uint32_t core[TOPOLOGY_CPUS_MAX];  /* physical core of topology->cpus[i] */
	uint32_t polls[TOPOLOGY_CPUS_MAX]; /* polling lcores of each physical core */
	bool busy[TOPOLOGY_CPUS_MAX];      /* topology->cpus[i] has a polling lcore */
	int package[TOPOLOGY_NODES_MAX];   /* CPU package of each node; -1: the node has no CPUs */
};

#define NO_CPU UINT32_MAX

/* Bit fields of the rank of a CPU. A lower rank is better. */
#define RANK_ZERO     ((uint64_t)1 << 48)
#define RANK_REMOTE   ((uint64_t)1 << 47)
#define RANK_ORDINARY ((uint64_t)1 << 46)
#define RANK_SHARED   32
#define RANK_DISTANCE 16
#define RANK_CORE_0   ((uint64_t)1 << 12)
#define RANK_NUMBER   (RANK_CORE_0 - 1)

static void init_allocator(struct core_allocator *allocator, const struct topology *topology)
{
	memset(allocator, 0, sizeof(*allocator));
	allocator->topology = topology;
	memset(allocator->package, -1, sizeof(allocator->package));
	for (uint32_t i = 0; i < topology->nb_cpus; i++) {
		const struct topology_cpu *cpu = &topology->cpus[i];
		uint32_t first = 0;

		while (!topology_same_core(&topology->cpus[first], cpu))
			first++;
		allocator->core[i] = first == i ? allocator->nb_cores++ : allocator->core[first];
		allocator->isolating |= cpu->isolated;
		if (cpu->node >= 0 && cpu->node < TOPOLOGY_NODES_MAX)
			allocator->package[cpu->node] = (int)cpu->package;
	}
}

static bool on_core_0(const struct core_allocator *allocator, uint32_t i)
{
	return allocator->topology->cpus[0].id == 0 && allocator->core[i] == allocator->core[0];
}

static uint64_t rank_cpu(const struct core_allocator *allocator, uint32_t i, int node)
{
	const struct topology_cpu *cpu = &allocator->topology->cpus[i];
	uint32_t distance = topology_distance(allocator->topology, node, cpu->node);
	uint64_t rank = cpu->id;

	if (cpu->id == 0)
		rank |= RANK_ZERO;
	if (cpu->node != node && allocator->package[node] != (int)cpu->package)
		rank |= RANK_REMOTE;
	if (allocator->isolating && !cpu->isolated)
		rank |= RANK_ORDINARY;
	if (on_core_0(allocator, i))
		rank |= RANK_CORE_0;
	if (cpu->node != node)
		rank |= (uint64_t)(distance > TOPOLOGY_DISTANCE_LOCAL
					   ? distance - TOPOLOGY_DISTANCE_LOCAL
					   : 1)
			<< RANK_DISTANCE;
	return rank | (uint64_t)allocator->polls[allocator->core[i]] << RANK_SHARED;
}

static uint32_t best_cpu(const struct core_allocator *allocator, int node, uint64_t *rank)
{
	uint32_t best = NO_CPU;

	*rank = UINT64_MAX;
	for (uint32_t i = 0; i < allocator->topology->nb_cpus; i++) {
		uint64_t this = rank_cpu(allocator, i, node);

		if (allocator->busy[i] || this >= *rank)
			continue;
		*rank = this;
		best = i;
	}
	return best;
}

/* Returns true if the rank is that of a whole core on the right node. */
static bool is_good(uint64_t rank)
{
	return rank <= (RANK_NUMBER | RANK_CORE_0);
}

/* Excludes the core of CPU 0, and ordinary cores if there are isolated ones. */
static uint32_t good_cores(const struct core_allocator *allocator, int node)
{
	bool counted[TOPOLOGY_CPUS_MAX] = {false};
	uint32_t all = 0, isolated = 0;

	for (uint32_t i = 0; i < allocator->topology->nb_cpus; i++) {
		const struct topology_cpu *cpu = &allocator->topology->cpus[i];

		if ((node != PLAN_NODE_ANY && cpu->node != node) || on_core_0(allocator, i) ||
			counted[allocator->core[i]])
			continue;
		counted[allocator->core[i]] = true;
		all++;
		isolated += cpu->isolated;
	}
	return isolated > 0 ? isolated : all;
}

static int home_of(const struct core_allocator *allocator, const struct plan_group *group)
{
	uint32_t most = 0;
	int home = allocator->topology->cpus[allocator->topology->nb_cpus - 1].node;

	if (group->node != PLAN_NODE_ANY)
		return group->node;
	for (int node = 0; node < TOPOLOGY_NODES_MAX; node++) {
		uint32_t cores = good_cores(allocator, node);

		if (cores > most) {
			most = cores;
			home = node;
		}
	}
	return home >= 0 && home < TOPOLOGY_NODES_MAX ? home : 0;
}

uint32_t plan_count_workers(struct plan *plan, const struct topology *topology)
{
	static _Thread_local struct core_allocator allocator;

	init_allocator(&allocator, topology);
	for (uint32_t g = 0; g < plan->nb_groups; g++) {
		/* The receiver and the feeder also need cores. */
		uint32_t others = (plan->design->rx_core ? 1 : 0) + (plan->replay ? 1 : 0);
		uint32_t cores = good_cores(&allocator, plan->groups[g].node);

		plan->groups[g].nb_workers = cores > others ? cores - others : 1;
	}
	return allocator.nb_cores;
}

static void take_cpu(struct core_allocator *allocator, struct plan_lcore *lcore, uint32_t i)
{
	allocator->busy[i] = true;
	allocator->polls[allocator->core[i]]++;
	lcore->cpu = (int)allocator->topology->cpus[i].id;
	lcore->node = allocator->topology->cpus[i].node;
}

static uint32_t order_polling(struct plan *plan, struct plan_lcore *order[PLAN_LCORES_MAX])
{
	static const enum plan_role roles[] = {PLAN_RECEIVER, PLAN_WORKER, PLAN_FEEDER};
	uint32_t n = 0;

	for (size_t r = 0; r < sizeof(roles) / sizeof(roles[0]); r++)
		for (uint32_t i = 0; i < plan->nb_lcores; i++)
			if (plan->lcores[i].role == roles[r])
				order[n++] = &plan->lcores[i];
	return n;
}

static void assign_polling(struct plan *plan, struct core_allocator *allocator)
{
	struct plan_lcore *order[PLAN_LCORES_MAX];
	uint32_t n = order_polling(plan, order);

	for (uint32_t i = 0; i < n; i++)
		order[i]->cpu = -1;
	for (uint32_t pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < n; i++) {
			uint64_t rank;
			uint32_t cpu;

			if (order[i]->cpu >= 0)
				continue;
			cpu = best_cpu(allocator, plan->groups[order[i]->group].memory_node, &rank);
			if (pass > 0 || is_good(rank))
				take_cpu(allocator, order[i], cpu);
		}
}

/* CPUs on cores without polling lcores come first, then CPUs that are not isolated. */
static uint64_t rank_ordinary(const struct core_allocator *allocator, uint32_t i, int node)
{
	const struct topology_cpu *cpu = &allocator->topology->cpus[i];

	return (allocator->polls[allocator->core[i]] > 0 ? (uint64_t)1 << 33 : 0) |
	       (cpu->isolated ? (uint64_t)1 << 32 : 0) |
	       topology_distance(allocator->topology, node, cpu->node);
}

static void assign_reporter(struct plan *plan, const struct core_allocator *allocator)
{
	const struct topology *topology = allocator->topology;
	struct plan_lcore *reporter = &plan->lcores[0];
	int node = plan->groups[0].memory_node;
	uint64_t best = UINT64_MAX;

	for (uint32_t i = 0; i < topology->nb_cpus; i++) {
		uint64_t rank = rank_ordinary(allocator, i, node);

		if (allocator->busy[i] || rank > best)
			continue;
		if (rank < best) {
			memset(&plan->ordinary, 0, sizeof(plan->ordinary));
			reporter->cpu = (int)topology->cpus[i].id;
			reporter->node = topology->cpus[i].node;
		}
		best = rank;
		cpu_set_add(&plan->ordinary, topology->cpus[i].id);
	}
	if (best != UINT64_MAX)
		return;
	/* No CPU is left. On a replay, lcore 1 is the feeder, which may be delayed. */
	reporter->cpu = plan->lcores[1].cpu;
	reporter->node = plan->lcores[1].node;
	cpu_set_add(&plan->ordinary, (uint32_t)reporter->cpu);
}

struct affected {
	struct cpu_set workers;
	bool rx_core;
};

static void add_affected(struct affected *affected, const struct plan_lcore *lcore)
{
	if (lcore->role == PLAN_WORKER)
		cpu_set_add(&affected->workers, lcore->worker);
	else
		affected->rx_core = true;
}

/* Writes text such as "the receiver and workers 3-5". Returns false if there are no lcores. */
static bool print_affected(const struct affected *affected, char *text, size_t size)
{
	uint32_t n = cpu_set_count(&affected->workers);
	char list[128];

	cpu_set_print(&affected->workers, list, sizeof(list));
	snprintf(text, size, "%s%s%s%s", affected->rx_core ? "the receiver" : "",
		affected->rx_core && n > 0 ? " and " : "",
		n == 0   ? ""
		: n == 1 ? "worker "
			 : "workers ",
		list);
	return affected->rx_core || n > 0;
}

static void warn_remote_node(struct plan *plan, uint32_t g)
{
	struct affected remote = {0};
	char text[192];

	if (plan->groups[g].node == PLAN_NODE_ANY)
		return;
	for (uint32_t i = 0; i < plan->nb_lcores; i++) {
		const struct plan_lcore *lcore = &plan->lcores[i];

		if ((lcore->role == PLAN_RECEIVER || lcore->role == PLAN_WORKER) &&
			lcore->group == g && lcore->node != plan->groups[g].node)
			add_affected(&remote, lcore);
	}
	if (print_affected(&remote, text, sizeof(text)))
		plan_warn(plan,
			"%s: not on NUMA node %d of the port%s, which has too few free CPUs: "
			"packets cross between nodes",
			text, plan->groups[g].node, plan->groups[g].nb_ports == 1 ? "" : "s");
}

static const struct topology_cpu *cpu_of(
	const struct core_allocator *allocator, const struct plan_lcore *lcore, uint32_t *index)
{
	for (*index = 0; *index < allocator->topology->nb_cpus; ++*index)
		if ((int)allocator->topology->cpus[*index].id == lcore->cpu)
			return &allocator->topology->cpus[*index];
	return NULL;
}

static void warn_shared_cores(struct plan *plan, const struct core_allocator *allocator)
{
	struct affected sharing = {0}, ordinary = {0};
	char text[192];

	for (uint32_t i = 0; i < plan->nb_lcores; i++) {
		const struct plan_lcore *lcore = &plan->lcores[i];
		const struct topology_cpu *cpu;
		uint32_t index;

		if (lcore->role != PLAN_RECEIVER && lcore->role != PLAN_WORKER)
			continue;
		cpu = cpu_of(allocator, lcore, &index);
		if (cpu == NULL)
			continue;
		if (allocator->polls[allocator->core[index]] > 1)
			add_affected(&sharing, lcore);
		if (allocator->isolating && !cpu->isolated)
			add_affected(&ordinary, lcore);
	}
	if (print_affected(&sharing, text, sizeof(text)))
		plan_warn(plan,
			"%s share physical cores with lcores that poll: fewer --workers may be "
			"faster",
			text);
	if (print_affected(&ordinary, text, sizeof(text)))
		plan_warn(plan,
			"%s: on CPUs that are not isolated, because the CPU package of the port "
			"has too few isolated CPUs",
			text);
}

static void warn_shared_sketch(struct plan *plan)
{
	struct affected remote = {0};
	char text[192];
	int node = PLAN_NODE_ANY;

	if (plan->sharing != SHARING_SHARED)
		return;
	for (uint32_t i = 0; i < plan->nb_lcores; i++) {
		const struct plan_lcore *lcore = &plan->lcores[i];

		if (lcore->role != PLAN_WORKER)
			continue;
		if (lcore->worker == 0)
			node = lcore->node;
		else if (lcore->node != node)
			add_affected(&remote, lcore);
	}
	if (print_affected(&remote, text, sizeof(text)))
		plan_warn(plan,
			"the shared sketch is on NUMA node %d, but not %s: their updates cross "
			"between nodes; use --sharing separate",
			node, text);
}

static void float_all(struct plan *plan)
{
	plan->ordinary = plan->cpus;
	for (uint32_t i = 0; i < plan->nb_lcores; i++) {
		plan->lcores[i].cpu = -1;
		plan->lcores[i].node = PLAN_NODE_ANY;
	}
	for (uint32_t g = 0; g < plan->nb_groups; g++)
		plan->groups[g].memory_node = plan->groups[g].node;
}

static void init_plan_cpus(struct plan *plan, struct core_allocator *allocator)
{
	init_allocator(allocator, allocator->topology);
	plan->nb_cpus = allocator->topology->nb_cpus;
	for (uint32_t i = 0; i < plan->nb_cpus; i++)
		cpu_set_add(&plan->cpus, allocator->topology->cpus[i].id);
	for (uint32_t g = 0; g < plan->nb_groups; g++)
		plan->groups[g].memory_node = home_of(allocator, &plan->groups[g]);
}

void plan_assign_cores(struct plan *plan, const struct topology *topology)
{
	static _Thread_local struct core_allocator allocator;

	allocator.topology = topology;
	init_plan_cpus(plan, &allocator);
	plan->oversubscribed = plan_nb_polling(plan) + (plan->replay ? 0 : 1) > plan->nb_cpus;
	if (plan->oversubscribed) {
		float_all(plan);
		return;
	}
	assign_polling(plan, &allocator);
	assign_reporter(plan, &allocator);
	for (uint32_t g = 0; g < plan->nb_groups; g++)
		warn_remote_node(plan, g);
	warn_shared_cores(plan, &allocator);
	warn_shared_sketch(plan);
}

void plan_assign_core(struct plan *plan, const struct topology *topology)
{
	static _Thread_local struct core_allocator allocator;
	uint64_t rank;

	allocator.topology = topology;
	init_plan_cpus(plan, &allocator);
	take_cpu(&allocator, &plan->lcores[0],
		best_cpu(&allocator, plan->groups[0].memory_node, &rank));
	cpu_set_add(&plan->ordinary, (uint32_t)plan->lcores[0].cpu);
}
