/* SPDX-License-Identifier: BSD-3-Clause */

/* Assignment of CPUs on simulated machines of every kind. */

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

static const struct plan_lcore *lcore_of(enum plan_role role, uint32_t number)
{
	for (uint32_t i = 0; i < plan.nb_lcores; i++)
		if (plan.lcores[i].role == role &&
			(role == PLAN_WORKER ? plan.lcores[i].worker : plan.lcores[i].group) ==
				number)
			return &plan.lcores[i];
	fail_msg("no lcore of role %d has number %u", (int)role, number);
	return NULL;
}

/* Returns the CPUs of all workers as a list. */
static const char *worker_cpus(void)
{
	static char text[256];
	struct cpu_set cpus = {0};

	for (uint32_t w = 0; w < plan.nb_workers; w++)
		cpu_set_add(&cpus, (uint32_t)lcore_of(PLAN_WORKER, w)->cpu);
	cpu_set_print(&cpus, text, sizeof(text));
	return text;
}

#define TWO_BY_SIX .nodes = {{.cpus = "0-5"}, {.cpus = "6-11"}}

#define TWO_BY_28                                                                                  \
	.nodes = {{.cpus = "0-27", .siblings = "56-83", .distance = "10 21"},                      \
		{.cpus = "28-55", .siblings = "84-111", .distance = "21 10"}}

/* Two packages of two nodes of six cores. */
#define SUB_NUMA                                                                                   \
	.nodes_per_package = 2, .nodes = {{.cpus = "0-5", .distance = "10 12 21 21"},              \
					{.cpus = "6-11", .distance = "12 10 21 21"},               \
					{.cpus = "12-17", .distance = "21 21 10 12"},              \
					{.cpus = "18-23", .distance = "21 21 12 10"}}

static void test_one_by_two(void **state)
{
	(void)state;
	describe(.nodes = {{.cpus = "0-1"}});
	make("rss", 0, NODES(0));
	assert_string_equal(worker_cpus(), "1");
	assert_int_equal(plan.lcores[0].cpu, 0);
	make("rss", 0, REPLAY);
	assert_string_equal(worker_cpus(), "1");
	assert_int_equal(lcore_of(PLAN_FEEDER, 0)->cpu, 0);
	assert_int_equal(plan.lcores[0].cpu, 0);
	assert_int_equal(plan.nb_warnings, 0);
}

static void test_one_cpu(void **state)
{
	(void)state;
	describe(.nodes = {{.cpus = "0"}});
	make("async", 0, NODES(0));
	assert_int_equal(plan.nb_workers, 1);
	assert_true(plan.oversubscribed && plan.idle == IDLE_SLEEP);
	assert_true(cpu_set_has(&plan.ordinary, 0));
}

static void test_the_papers(void **state)
{
	(void)state;
	describe(TWO_BY_SIX);
	make("rss", 0, NODES(0));
	assert_string_equal(worker_cpus(), "1-5");
	assert_int_equal(plan.lcores[0].cpu, 0);
	make("async", 0, NODES(1));
	assert_int_equal(lcore_of(PLAN_RECEIVER, 0)->cpu, 6);
	assert_string_equal(worker_cpus(), "7-11");
	assert_int_equal(plan.nb_warnings, 0);
	/* The sixth worker on node 0 goes to the other node instead of CPU 0. */
	make("rss", 6, NODES(0));
	assert_string_equal(worker_cpus(), "1-6");
	assert_true(warned("worker 5: not on NUMA node 0"));
	/* Everything that polls has a CPU, and the reporter the last one. */
	make("rss", 11, NODES(0));
	assert_int_equal(plan.lcores[0].cpu, 0);
	assert_false(plan.oversubscribed);
	make("rss", 12, NODES(0));
	assert_true(plan.oversubscribed);
	assert_true(warned("12 lcores that poll and the reporter share 12 CPUs"));
	make("rss", 13, NODES(0));
	assert_true(warned("13 lcores that poll share 12 CPUs"));
}

static void test_hyperthreads(void **state)
{
	(void)state;
	describe(TWO_BY_28);
	make("rss", 0, NODES(0));
	assert_string_equal(worker_cpus(), "1-27");
	assert_int_equal(plan.lcores[0].cpu, 0);
	/* The 28th worker takes the other thread of CPU 0 before it shares a core with a worker. */
	make("rss", 28, NODES(0));
	assert_string_equal(worker_cpus(), "1-27,56");
	assert_int_equal(plan.nb_warnings, 0);
	assert_int_equal(polls_on_core(cpu_by_id(plan.lcores[0].cpu)), 0);
	make("rss", 30, NODES(1));
	assert_string_equal(worker_cpus(), "28-55,84-85");
	assert_true(warned("workers 0-1,28-29 share physical cores"));
	assert_false(warned("not on NUMA node"));
	make("rss", 60, NODES(1));
	assert_true(warned("workers 56-59: not on NUMA node 1"));
}

static void test_sub_numa_clusters(void **state)
{
	(void)state;
	describe(SUB_NUMA);
	make("rss", 8, NODES(3));
	assert_string_equal(worker_cpus(), "12-13,18-23");
	assert_true(warned("workers 6-7: not on NUMA node 3"));
	make("async", 10, NODES(0));
	assert_int_equal(lcore_of(PLAN_RECEIVER, 0)->cpu, 1);
	assert_string_equal(worker_cpus(), "2-11");
	/* Two ports whose nodes share a package: neither takes cores of the other. */
	make("rss", 12, NODES(2, 3));
	for (uint32_t w = 0; w < 12; w++)
		assert_int_equal(lcore_of(PLAN_WORKER, w)->node, w < 6 ? 2 : 3);
}

static void test_eight_nodes(void **state)
{
	(void)state;
	describe(.nodes = {{.cpus = "0-3"}, {.cpus = "4-7"},
			 {.cpus = "8-11", .distance = "20 20 10 20 20 11 20 20"}, {.cpus = "12-15"},
			 {.cpus = "16-19"},
			 {.cpus = "20-23", .distance = "20 20 11 20 20 10 20 20"},
			 {.cpus = "24-27"}, {.cpus = "28-31"}});
	make("rss", 6, NODES(5));
	assert_string_equal(worker_cpus(), "8-9,20-23");
	make("sync", 8, NODES(0, 1, 2, 3, 4, 5, 6, 7));
	assert_int_equal(plan.nb_groups, 8);
	for (uint32_t g = 0; g < 8; g++) {
		assert_int_equal(lcore_of(PLAN_RECEIVER, g)->node, g);
		assert_int_equal(lcore_of(PLAN_WORKER, g)->node, g);
		assert_int_equal(plan.groups[g].memory_node, g);
	}
	assert_int_equal(plan.nb_warnings, 0);
}

static void test_offline(void **state)
{
	(void)state;
	describe(.nodes = {{.cpus = "0-7"}}, .online = "0,4-5,7");
	make("rss", 0, NODES(0));
	assert_string_equal(worker_cpus(), "4-5,7");
	assert_int_equal(topology.nb_cpus, 4);
}

static void test_control_groups(void **state)
{
	(void)state;
	describe(.nodes = {{.cpus = "0-15"}}, .cpu_max = "350000 100000");
	make("async", 0, NODES(0));
	assert_int_equal(plan.nb_workers, 2); /* plus a receiver */
	assert_int_equal(plan.nb_warnings, 0);
	make("async", 4, NODES(0));
	assert_true(warned("limits 5 lcores that poll to the time of 3.5 CPUs"));
	/* A cpuset, or --lcores. */
	describe(TWO_BY_SIX);
	assert_int_equal(topology_restrict(&topology, "2-4,8", &(uint32_t){0}), 0);
	make("rss", 0, NODES(0));
	assert_string_equal(worker_cpus(), "2-4");
	assert_int_equal(plan.lcores[0].cpu, 8);
	make("rss", 0, NODES(1));
	assert_string_equal(worker_cpus(), "8");
	assert_int_equal(plan.lcores[0].cpu, 2);
}

static void test_isolated(void **state)
{
	(void)state;
	describe(.nodes = {{.cpus = "0-7", .siblings = "16-23"},
			 {.cpus = "8-15", .siblings = "24-31"}},
		.isolated = "4-7,20-23");
	make("rss", 0, NODES(0));
	assert_string_equal(worker_cpus(), "4-7");
	assert_int_equal(plan.lcores[0].cpu, 0);
	assert_false(cpu_set_has(&plan.ordinary, 20));
	assert_int_equal(plan.nb_warnings, 0);
	/* CPUs that are not isolated follow the last isolated one, on the port's node. */
	make("rss", 9, NODES(0));
	assert_string_equal(worker_cpus(), "1,4-7,20-23");
	assert_true(warned("worker 8: on CPUs that are not isolated"));
}

static void test_two_ports_on_two_nodes(void **state)
{
	(void)state;
	describe(TWO_BY_28);
	make("async", 7, NODES(0, 1));
	assert_int_equal(plan.nb_groups, 2);
	assert_int_equal(plan.groups[0].nb_workers, 4);
	assert_int_equal(plan.groups[1].nb_workers, 3);
	assert_int_equal(plan.groups[1].first_worker, 4);
	assert_int_equal(lcore_of(PLAN_RECEIVER, 0)->cpu, 1);
	assert_int_equal(lcore_of(PLAN_RECEIVER, 1)->cpu, 28);
	assert_string_equal(worker_cpus(), "2-5,29-31");
	assert_int_equal(plan.nb_nodes, 2);
	/* As many as fit, on both nodes. */
	make("rss", 0, NODES(0, 1));
	assert_int_equal(plan.groups[0].nb_workers, 27);
	assert_int_equal(plan.groups[1].nb_workers, 28);
	assert_int_equal(plan.groups[1].nb_queues, 28);
	assert_int_equal(plan.nb_warnings, 0);
	/* One worker cannot serve two nodes. */
	assert_false(make_plan("rss", 1, NODES(0, 1)));
	assert_true(plan.machine);
	assert_non_null(strstr(error, "--workers 2"));
	/* A shared sketch is on one of the nodes. */
	edit_plan_options(&config)->sharing = SHARING_SHARED;
	make("rss", 4, NODES(0, 1));
	assert_true(warned("the shared sketch is on NUMA node 0"));
	assert_true(warned("workers 2-3"));
	assert_int_equal(plan.nb_instances, 1);
	edit_plan_options(&config)->sharing = SHARING_SEPARATE;
}

static void test_three_ports_on_two_nodes(void **state)
{
	(void)state;
	describe(TWO_BY_28);
	make("rss", 5, NODES(1, 0, 1));
	assert_int_equal(plan.nb_groups, 2);
	assert_int_equal(plan.groups[0].node, 1);
	assert_int_equal(plan.groups[0].nb_ports, 2);
	assert_int_equal(plan.groups[0].nb_workers, 3);
	assert_int_equal(plan.ports[2].group, 0);
	assert_int_equal(plan.ports[1].group, 1);
	/* Two ports' rings in one pool. */
	assert_true(plan.groups[0].mbufs >= 2 * 3 * plan.ports[0].entries);
	/* The node of the second port is unknown: it joins the first known one. */
	make("rss", 4, NODES(-1, 1, -1));
	assert_int_equal(plan.nb_groups, 1);
	assert_int_equal(plan.groups[0].nb_ports, 3);
	assert_int_equal(lcore_of(PLAN_WORKER, 3)->node, 1);
}

/* A port with an unknown node: everything is on one node. */
static void test_unknown_node(void **state)
{
	(void)state;
	describe(TWO_BY_28);
	make("async", 8, NODES(-1));
	for (uint32_t w = 0; w < 8; w++)
		assert_int_equal(lcore_of(PLAN_WORKER, w)->node, lcore_of(PLAN_RECEIVER, 0)->node);
	assert_int_equal(plan.groups[0].memory_node, lcore_of(PLAN_RECEIVER, 0)->node);
	assert_int_equal(plan.nb_warnings, 0);
}

static void test_512_cpus(void **state)
{
	(void)state;
	describe(.nodes = {{.cpus = "0-127", .siblings = "256-383"},
			 {.cpus = "128-255", .siblings = "384-511"}});
	make("rss", 0, NODES(1));
	assert_int_equal(plan.nb_workers, PLAN_WORKERS_MAX);
	assert_string_equal(worker_cpus(), "128-247");
	make("async", 0, NODES(0, 1));
	assert_int_equal(plan.nb_workers, PLAN_WORKERS_MAX);
	assert_int_equal(plan.groups[0].nb_workers, PLAN_WORKERS_MAX / 2);
	assert_int_equal(plan.nb_lcores, PLAN_WORKERS_MAX + 3);
}

static void test_too_many_lcores(void **state)
{
	static const int nodes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, -2};

	(void)state;
	describe(.nodes = {{.cpus = "0-255"}});
	assert_false(make_plan("async", PLAN_WORKERS_MAX, nodes));
	assert_true(plan.machine);
	assert_non_null(strstr(error, "lower --workers"));
	make("async", 0, nodes);
	assert_int_equal(plan.nb_lcores, PLAN_LCORES_MAX);
}

static void test_memory(void **state)
{
	(void)state;
	describe(.nodes = {{.cpus = "0-7", .memory_mb = 64}, {.cpus = "8-15", .memory_mb = 64}});
	assert_false(make_plan("rss", 14, NODES(0, 1)));
	assert_true(plan.machine);
	assert_non_null(strstr(error, "128 MB are available"));
	/* Fits the machine, but not the node. */
	make("rss", 6, NODES(0));
	assert_true(warned("NUMA node 0 has 64 MB of free memory"));
	/* Hugepages only if every node has enough. */
	describe(.nodes = {{.cpus = "0-7", .memory_mb = 8192, .hugepages_mb = 1024},
			 {.cpus = "8-15", .memory_mb = 8192, .hugepages_mb = 64}});
	make("rss", 2, NODES(0));
	assert_true(plan.hugepages);
	make("rss", 2, NODES(0, 1));
	assert_false(plan.hugepages);
	assert_non_null(strstr(plan.no_hugepages, "NUMA node 1 has 64 MB"));
}

static void test_fit(void **state)
{
	struct plan_device devices[2] = {
		{.queues_max = 2, .entries = 4096},
		{.queues_max = 16, .entries = 512},
	};
	uint32_t spare = 0;

	(void)state;
	describe(TWO_BY_SIX);
	make("rss", 0, NODES(0, 1));
	assert_int_equal(plan.nb_workers, 11);
	assert_true(plan_fit(&plan, &config, &topology, devices, error));
	assert_int_equal(plan.groups[0].nb_workers, 2);
	assert_int_equal(plan.groups[1].nb_workers, 6);
	assert_int_equal(plan.groups[1].first_worker, 2);
	assert_int_equal(plan.nb_instances, 8);
	for (uint32_t w = 0; w < 8; w++)
		assert_int_equal(lcore_of(PLAN_WORKER, w)->group, w < 2 ? 0 : 1);
	for (uint32_t i = 0; i < plan.nb_lcores; i++)
		spare += plan.lcores[i].role == PLAN_SPARE;
	assert_int_equal(spare, 3);
	assert_true(plan.groups[0].mbufs >= 2 * 4096);
	/* An explicit number stays, and the port refuses it. */
	make("rss", 6, NODES(0, 1));
	assert_true(plan_fit(&plan, &config, &topology, devices, error));
	assert_int_equal(plan.nb_workers, 6);
}

/* Plans ports on nodes 0 and 1; the driver of the first one limits the number of queues. */
static void make_picky(const char *design, uint32_t workers, struct plan_queues queues)
{
	set_config(design, workers);
	ports = (struct plan_ports){
		.nb_ports = 2,
		.ports = {{.name = "picky,x=y", .node = 0, .queues = queues}, {.node = 1}},
	};
	if (!plan_make(&plan, &config, &topology, &ports, error))
		fail_msg("%s", error);
}

/* Known before the device exists, so that plan and doctor report it and the run uses it. */
static void test_queues_of_drivers(void **state)
{
	const struct plan_queues one = {.max = 1}, powers = {.power_of_two = true};

	(void)state;
	describe(TWO_BY_SIX);
	make_picky("rss", 0, powers);
	assert_int_equal(plan.groups[0].nb_workers, 4);
	assert_int_equal(plan.groups[1].nb_workers, 6);
	assert_true(warned("picky: its driver supports 1, 2, 4, 8, ... receive queues: 4 workers "
			   "instead of 5; --design async"));
	make_picky("rss", 6, powers);
	assert_int_equal(plan.groups[0].nb_workers, 2);
	assert_int_equal(plan.nb_workers, 5);
	assert_true(warned("2 workers instead of 3"));
	make_picky("rss", 4, powers);
	assert_int_equal(plan.nb_warnings, 0);
	make_picky("rss", 0, one);
	assert_int_equal(plan.groups[0].nb_workers, 1);
	assert_true(warned("picky: its driver supports 1 receive queue: 1 worker instead of 5"));
	make_picky("rss", 2, one);
	assert_int_equal(plan.nb_warnings, 0);
	make_picky("async", 6, one);
	assert_int_equal(plan.groups[0].nb_workers, 3);
	assert_int_equal(plan.nb_warnings, 0);
}

/* Known only once the device exists: the run uses the supported number and logs it. */
static void test_fit_to_drivers(void **state)
{
	struct plan_device devices[2] = {
		{.queues_max = 16, .entries = 1024, .queues = {.power_of_two = true}},
		{.queues_max = 1, .entries = 1024},
	};

	(void)state;
	describe(TWO_BY_SIX);
	make("rss", 0, NODES(0, 1));
	assert_true(plan_fit(&plan, &config, &topology, devices, error));
	assert_int_equal(plan.groups[0].nb_workers, 4);
	assert_int_equal(plan.groups[1].nb_workers, 1);
	assert_int_equal(plan.nb_instances, 5);
	assert_int_equal(plan.nb_warnings, 2);
	assert_true(warned("4 workers instead of 5"));
	assert_true(warned("it distributes packets to 1 receive queue: 1 worker instead of 6"));
	make("rss", 6, NODES(0, 1));
	assert_true(plan_fit(&plan, &config, &topology, devices, error));
	assert_int_equal(plan.groups[0].nb_workers, 2);
	assert_int_equal(plan.groups[1].nb_workers, 3); /* the port refuses */
	assert_int_equal(plan.nb_warnings, 1);
	make("async", 6, NODES(0, 1));
	assert_true(plan_fit(&plan, &config, &topology, devices, error));
	assert_int_equal(plan.nb_workers, 6);
	assert_int_equal(plan.nb_warnings, 0);
}

static void test_sender(void **state)
{
	(void)state;
	describe(TWO_BY_28);
	set_config("rss", 0);
	ports = (struct plan_ports){.nb_ports = 1, .ports[0].node = 1};
	assert_true(plan_make_sender(&plan, &config, &topology, &ports, false, error));
	assert_int_equal(plan.lcores[0].cpu, 28);
	assert_int_equal(plan.groups[0].memory_node, 1);
	assert_true(plan.groups[0].mbufs > 0);
}

/* A number of workers equal to that of the cores is distributed like the cores. */
static void test_shares_follow_cores(void **state)
{
	(void)state;
	describe(.nodes = {{.cpus = "0-1"}, {.cpus = "2-3"}});
	make("rss", 0, NODES(0, 1));
	assert_int_equal(plan.groups[0].nb_workers, 1);
	assert_int_equal(plan.groups[1].nb_workers, 2);
	make("rss", 3, NODES(0, 1));
	assert_int_equal(plan.groups[0].nb_workers, 1);
	assert_int_equal(plan.groups[1].nb_workers, 2);
	assert_false(warned("not on NUMA node"));
	/* Half of them each, also if there are too many. */
	describe(TWO_BY_28);
	make("rss", 7, NODES(0, 1));
	assert_int_equal(plan.groups[0].nb_workers, 4);
	assert_int_equal(plan.groups[1].nb_workers, 3);
	make("rss", 70, NODES(0, 1));
	assert_int_equal(plan.groups[0].nb_workers, 35);
	assert_int_equal(plan.groups[1].nb_workers, 35);
	/* A receiver also takes a core. */
	make("async", 53, NODES(0, 1));
	assert_int_equal(plan.groups[0].nb_workers, 26);
	assert_int_equal(plan.groups[1].nb_workers, 27);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_by_two),
		cmocka_unit_test(test_one_cpu),
		cmocka_unit_test(test_the_papers),
		cmocka_unit_test(test_hyperthreads),
		cmocka_unit_test(test_sub_numa_clusters),
		cmocka_unit_test(test_eight_nodes),
		cmocka_unit_test(test_offline),
		cmocka_unit_test(test_control_groups),
		cmocka_unit_test(test_isolated),
		cmocka_unit_test(test_two_ports_on_two_nodes),
		cmocka_unit_test(test_three_ports_on_two_nodes),
		cmocka_unit_test(test_unknown_node),
		cmocka_unit_test(test_512_cpus),
		cmocka_unit_test(test_too_many_lcores),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_fit),
		cmocka_unit_test(test_sender),
		cmocka_unit_test(test_shares_follow_cores),
		cmocka_unit_test(test_queues_of_drivers),
		cmocka_unit_test(test_fit_to_drivers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
