/* SPDX-License-Identifier: BSD-3-Clause */

/* Invariants of every plan, on thousands of random machines. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "made_up_plan.h"

static uint64_t random_state;

static uint32_t below(uint32_t limit)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)((random_state >> 33) % limit);
}

static void make_random_machine(void)
{
	struct topology *t = &topology;
	uint32_t packages = 1 + below(3), nodes = 1 + below(3), cores = 1 + below(12);
	uint32_t threads = 1 + below(4) / 2, total = packages * nodes * cores;
	bool adjacent = below(2) == 0, isolates = below(3) == 0;
	uint32_t offline = below(3) == 0 ? 1 + below(6) : 0;

	memset(&topology, 0, sizeof(topology));
	for (uint32_t id = 0; id < total * threads; id++) {
		uint32_t core = adjacent ? id / threads : id % total;
		uint32_t node = core / cores;

		if (offline > 0 && below(offline + 1) == 0)
			continue;
		t->cpus[t->nb_cpus++] = (struct topology_cpu){
			.id = id,
			.package = node / nodes,
			.core = core,
			.node = (int)node,
			.isolated = isolates && core % cores >= cores / 2,
		};
		t->nodes[node].known = true;
	}
	if (t->nb_cpus == 0)
		t->cpus[t->nb_cpus++] = (struct topology_cpu){.id = total};
	for (uint32_t a = 0; a < packages * nodes; a++)
		for (uint32_t b = 0; b < packages * nodes; b++)
			t->nodes[a].distance[b] = a == b ? 10 : (a / nodes == b / nodes ? 12 : 21);
}

static bool make_random_plan(void)
{
	static const char *const all_designs[] = {"rss", "async", "sync"};
	int nodes[8];
	uint32_t n = below(6);

	make_random_machine();
	for (uint32_t p = 0; p < n; p++)
		nodes[p] = (int)below(10) - 1;
	nodes[n] = -2;
	edit_plan_options(&config)->sharing = below(3) == 0 ? SHARING_SHARED : SHARING_SEPARATE;
	return make_plan(all_designs[below(3)], below(3) == 0 ? 0 : 1 + below(40), nodes);
}

static bool isolating(void)
{
	for (uint32_t i = 0; i < topology.nb_cpus; i++)
		if (topology.cpus[i].isolated)
			return true;
	return false;
}

/* Returns true if a free core on the lcore's node would be better than its CPU. */
static bool has_better(const struct plan_lcore *lcore)
{
	int node = plan.groups[lcore->group].memory_node;
	const struct topology_cpu *taken = cpu_by_id(lcore->cpu);

	for (uint32_t i = 0; i < topology.nb_cpus; i++) {
		const struct topology_cpu *cpu = &topology.cpus[i];

		if (cpu->id != 0 && cpu->node == node && polls_on_core(cpu) == 0 &&
			(cpu->isolated || !taken->isolated || !isolating()))
			return true;
	}
	return false;
}

/*
 * Returns the number of cores of a node without that of CPU 0; only isolated ones if there are any.
 */
static uint32_t cores_of(int node)
{
	uint32_t all = 0, isolated = 0;

	for (uint32_t i = 0; i < topology.nb_cpus; i++) {
		const struct topology_cpu *cpu = &topology.cpus[i];
		bool seen = cpu_by_id(0) != NULL && topology_same_core(cpu_by_id(0), cpu);

		for (uint32_t other = 0; other < i; other++)
			seen |= topology_same_core(&topology.cpus[other], cpu);
		if (seen || (node != PLAN_NODE_ANY && cpu->node != node))
			continue;
		all++;
		isolated += cpu->isolated;
	}
	return isolated > 0 ? isolated : all;
}

/* A group has fewer workers than its share only if its node has no further core. */
static void check_shares(void)
{
	uint32_t most = 0;

	for (uint32_t g = 0; g < plan.nb_groups; g++)
		most = plan.groups[g].nb_workers > most ? plan.groups[g].nb_workers : most;
	for (uint32_t g = 0; g < plan.nb_groups; g++)
		if (plan.groups[g].nb_workers + 1 < most)
			assert_true(plan.groups[g].nb_workers + (plan.design->rx_core) >=
				    cores_of(plan.groups[g].node));
}

static void check_groups(void)
{
	uint32_t next = 0;

	for (uint32_t g = 0; g < plan.nb_groups; g++) {
		const struct plan_group *group = &plan.groups[g];

		assert_int_equal(group->first_worker, next);
		assert_true(group->nb_workers >= 1 && group->nb_ports >= 1);
		next += group->nb_workers;
		for (uint32_t other = 0; other < g; other++)
			assert_int_not_equal(group->node, plan.groups[other].node);
		if (group->node != PLAN_NODE_ANY)
			assert_int_equal(group->memory_node, group->node);
		assert_true(group->mbufs > 0);
	}
	assert_int_equal(next, plan.nb_workers);
	if (plan_options(&config)->workers > 0) {
		assert_int_equal(plan.nb_workers, plan_options(&config)->workers);
		check_shares();
	}
	for (uint32_t p = 0; p < plan.nb_ports; p++)
		if (plan.ports[p].node == PLAN_NODE_ANY)
			assert_int_equal(plan.ports[p].group, 0);
		else
			assert_int_equal(plan.groups[plan.ports[p].group].node, plan.ports[p].node);
}

/* Every queue of every port is polled by exactly one lcore. */
static void check_queues(void)
{
	for (uint32_t p = 0; p < plan.nb_ports; p++) {
		const struct plan_group *group = &plan.groups[plan.ports[p].group];

		for (uint32_t q = 0; q < group->nb_queues; q++) {
			uint32_t n = 0;

			for (uint32_t i = 0; i < plan.nb_lcores; i++) {
				const struct plan_lcore *lcore = &plan.lcores[i];

				if (lcore->group != plan.ports[p].group)
					continue;
				if (plan.design->rx_core)
					n += lcore->role == PLAN_RECEIVER;
				else
					n += lcore->role == PLAN_WORKER &&
					     lcore->worker - group->first_worker == q;
			}
			assert_int_equal(n, 1);
		}
	}
}

static bool is_polled(uint32_t id)
{
	for (uint32_t i = 0; i < plan.nb_lcores; i++)
		if (polls(&plan.lcores[i]) && plan.lcores[i].cpu == (int)id)
			return true;
	return false;
}

static void check_polling(const struct plan_lcore *lcore)
{
	const struct topology_cpu *cpu = cpu_by_id(lcore->cpu);
	const struct plan_group *group = &plan.groups[lcore->group];
	uint32_t sharers = 0, without_better = 0;

	assert_non_null(cpu);
	assert_int_equal(lcore->node, cpu->node); /* memory is local */
	for (uint32_t i = 0; i < plan.nb_lcores; i++) {
		const struct plan_lcore *other = &plan.lcores[i];

		if (!polls(other) || !topology_same_core(cpu_by_id(other->cpu), cpu))
			continue;
		if (other != lcore)
			assert_int_not_equal(other->cpu, lcore->cpu);
		sharers++;
		without_better += !has_better(other);
	}
	if (sharers > 1)
		assert_true(without_better > 0);
	/* CPU 0 is used last. */
	if (cpu->id == 0)
		for (uint32_t i = 0; i < topology.nb_cpus; i++)
			assert_true(is_polled(topology.cpus[i].id));
	if (lcore->role == PLAN_FEEDER || lcore->node == group->node ||
		group->node == PLAN_NODE_ANY)
		return;
	assert_true(warned("not on NUMA node"));
	assert_false(has_better(lcore));
}

static void check_reporter(void)
{
	const struct topology_cpu *cpu = cpu_by_id(plan.lcores[0].cpu);

	assert_non_null(cpu);
	assert_true(cpu_set_has(&plan.ordinary, cpu->id));
	for (uint32_t i = 0; i < topology.nb_cpus; i++) {
		const struct topology_cpu *other = &topology.cpus[i];

		/*
		 * Ordinary threads share no CPU with a polling lcore, except a feeder if necessary.
		 */
		if (cpu_set_has(&plan.ordinary, other->id) && is_polled(other->id))
			assert_true(plan.replay && plan.lcores[1].cpu == (int)other->id);
		if (is_polled(other->id))
			continue;
		assert_false(is_polled(cpu->id));
		if (polls_on_core(other) == 0) {
			assert_int_equal(polls_on_core(cpu), 0);
			assert_true(!cpu->isolated || other->isolated);
		}
	}
}

static void check_memory(void)
{
	size_t packets = 0, counters = 0, pools = 0;

	for (uint32_t n = 0; n < plan.nb_nodes; n++) {
		packets += plan.nodes[n].packet_bytes;
		counters += plan.nodes[n].sketch_bytes;
	}
	for (uint32_t g = 0; g < plan.nb_groups; g++)
		pools += plan.groups[g].packet_bytes;
	assert_int_equal(packets, plan.packet_bytes);
	assert_int_equal(pools, plan.packet_bytes);
	assert_int_equal(counters, plan.sketch_bytes);
}

static void check_random_plan(void)
{
	uint32_t polling = 0;

	for (uint32_t i = 0; i < plan.nb_lcores; i++)
		polling += polls(&plan.lcores[i]);
	assert_int_equal(plan.oversubscribed, polling + (plan.replay ? 0 : 1) > topology.nb_cpus);
	check_groups();
	check_queues();
	check_memory();
	for (uint32_t i = 0; i < plan.nb_lcores; i++)
		if (plan.oversubscribed)
			assert_int_equal(plan.lcores[i].cpu, -1);
		else if (polls(&plan.lcores[i]))
			check_polling(&plan.lcores[i]);
	if (!plan.oversubscribed)
		check_reporter();
	/* The default number of workers fits, if any number fits. */
	if (plan_options(&config)->workers == 0 && plan.oversubscribed)
		for (uint32_t g = 0; g < plan.nb_groups; g++)
			assert_int_equal(plan.groups[g].nb_workers, 1);
}

static void test_random_plans(void **state)
{
	uint32_t made = 0;

	(void)state;
	for (uint32_t i = 0; i < 10000; i++) {
		random_state = i;
		below(2);
		if (!make_random_plan()) {
			assert_true(plan_options(&config)->workers < plan.nb_groups ||
				    (plan.replay && !plan.design->rx_core &&
					    plan_options(&config)->workers > 16));
			continue;
		}
		check_random_plan();
		made++;
	}
	assert_true(made > 7000);
	edit_plan_options(&config)->sharing = SHARING_SEPARATE;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_plans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
