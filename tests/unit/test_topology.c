/* SPDX-License-Identifier: BSD-3-Clause */

/* The topology of simulated machines. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parallel/plan/topology.h"
#include "sysfs_tree.h"

static struct topology topology;

static int make_tree(void **state)
{
	(void)state;
	tree_make();
	return 0;
}

static int remove_tree(void **state)
{
	(void)state;
	tree_remove();
	return 0;
}

/* Two packages with two cores of two threads, one node each. */
static void write_small_machine(void)
{
	for (uint32_t cpu = 0; cpu < 8; cpu++)
		tree_cpu(cpu, cpu / 2 % 2, cpu % 2);
	tree_write("sys/devices/system/cpu/online", "0-7\n");
	tree_write("sys/devices/system/cpu/isolated", "\n");
	tree_write("sys/devices/system/cpu/nohz_full", "  (null)\n");
	tree_write("sys/devices/system/node/online", "0-1\n");
	tree_node(0, "0-1,4-5", "10 21");
	tree_node(1, "2-3,6-7", "21 10");
	tree_write("sys/devices/system/node/node1/meminfo",
		"Node 1 MemTotal:  9000 kB\nNode 1 MemFree:    4096 kB\nNode 1 Active(file):  1024 "
		"kB\n");
	tree_write(
		"sys/devices/system/node/node1/hugepages/hugepages-2048kB/free_hugepages", "3\n");
	tree_write("sys/devices/system/node/node1/hugepages/hugepages-1048576kB/free_hugepages",
		"2\n");
	tree_write("proc/self/status", "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\n");
	tree_write("proc/meminfo", "MemTotal:  9000 kB\nMemAvailable:  8000 kB\n");
}

static void test_small_machine(void **state)
{
	(void)state;
	write_small_machine();
	topology_read(&topology, tree_root);
	assert_int_equal(topology.nb_cpus, 8);
	for (uint32_t i = 0; i < 8; i++) {
		assert_int_equal(topology.cpus[i].id, i);
		assert_int_equal(topology.cpus[i].package, i / 2 % 2);
		assert_int_equal(topology.cpus[i].node, i / 2 % 2);
		assert_false(topology.cpus[i].isolated);
	}
	assert_true(topology_same_core(&topology.cpus[1], &topology.cpus[5]));
	assert_false(topology_same_core(&topology.cpus[1], &topology.cpus[3]));
	assert_int_equal(topology_distance(&topology, 0, 1), 21);
	assert_int_equal(topology_distance(&topology, 1, 1), 10);
	assert_int_equal(topology_distance(&topology, 1, 7), TOPOLOGY_DISTANCE_REMOTE);
	assert_true(topology.nodes[0].known);
	assert_false(topology.nodes[2].known);
	assert_int_equal(topology.nodes[1].free_memory, 5120 << 10);
	assert_int_equal(
		topology.nodes[1].free_hugepages, ((uint64_t)3 << 21) + ((uint64_t)2 << 30));
	assert_int_equal(topology.nodes[0].free_hugepages, 0);
	assert_int_equal(topology.memory, 8000 << 10);
	assert_true(topology.cpu_quota <= 0);
}

static void test_offline_and_affinity(void **state)
{
	(void)state;
	write_small_machine();
	tree_write("sys/devices/system/cpu/online", "0-2,4-7\n");
	tree_write("proc/self/status", "Cpus_allowed_list:\t1-5\n");
	topology_read(&topology, tree_root);
	assert_int_equal(topology.nb_cpus, 4);
	assert_int_equal(topology.cpus[0].id, 1);
	assert_int_equal(topology.cpus[1].id, 2);
	assert_int_equal(topology.cpus[2].id, 4);
	assert_int_equal(topology.cpus[3].id, 5);
}

/* The kernel keeps isolated CPUs out of affinities; they are used unless an affinity is set. */
static void test_isolated(void **state)
{
	(void)state;
	write_small_machine();
	tree_write("sys/devices/system/cpu/isolated", "2-3,6-7\n");
	tree_write("sys/devices/system/cpu/nohz_full", "5\n");
	tree_write("proc/self/status", "Cpus_allowed_list:\t0-1,4-5\n");
	topology_read(&topology, tree_root);
	assert_int_equal(topology.nb_cpus, 8);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(topology.cpus[i].isolated, i != 0 && i != 1 && i != 4);
	/* A cpuset with one isolated CPU. */
	tree_write("proc/self/cgroup", "0::/box\n");
	tree_write("sys/fs/cgroup/box/cpuset.cpus.effective", "0-2,4-5\n");
	topology_read(&topology, tree_root);
	assert_int_equal(topology.nb_cpus, 5);
	assert_int_equal(topology.cpus[2].id, 2);
	/* An explicit affinity. */
	tree_write("proc/self/status", "Cpus_allowed_list:\t0-1\n");
	topology_read(&topology, tree_root);
	assert_int_equal(topology.nb_cpus, 2);
}

static void test_control_groups(void **state)
{
	(void)state;
	write_small_machine();
	tree_write("proc/self/cgroup", "0::/system.slice/box\n");
	tree_write("sys/fs/cgroup/system.slice/box/cpu.max", "max 100000\n");
	tree_write("sys/fs/cgroup/system.slice/cpu.max", "250000 100000\n");
	tree_write("sys/fs/cgroup/system.slice/memory.max", "3000000\n");
	tree_write("sys/fs/cgroup/system.slice/memory.current", "1000000\n");
	topology_read(&topology, tree_root);
	assert_true(topology.cpu_quota > 2.49 && topology.cpu_quota < 2.51);
	assert_int_equal(topology.memory, 2000000);
	/* Version 1 of control groups, next to an empty version 2. */
	tree_write("proc/self/cgroup", "4:memory:/a\n3:cpu,cpuacct:/a/b\n0::/\n");
	tree_write("sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1\n");
	tree_write("sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us", "100000\n");
	tree_write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "150000\n");
	tree_write("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
	tree_write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9000000\n");
	tree_write("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "8500000\n");
	topology_read(&topology, tree_root);
	assert_true(topology.cpu_quota > 1.49 && topology.cpu_quota < 1.51);
	assert_int_equal(topology.memory, 500000);
}

/* Without any files: one CPU with unknown properties. */
static void test_empty(void **state)
{
	(void)state;
	tree_write("proc/self/status", "Cpus_allowed_list:\t\n");
	topology_read(&topology, tree_root);
	assert_int_equal(topology.nb_cpus, 1);
	assert_int_equal(topology.memory, 0);
}

static void test_this_machine(void **state)
{
	(void)state;
	topology_read(&topology, "");
	assert_true(topology.nb_cpus >= 1);
	assert_true(topology.memory > 0);
}

static void test_sets(void **state)
{
	static const char *const wrong[] = {
		"x", "1,", ",1", "3-1", "1-", "1024", "1-2000", "1:2", "0-4:0", "1 2", "-1"};
	struct cpu_set set;
	char text[32];

	(void)state;
	assert_true(cpu_set_parse(&set, "0-3,8-14:2,1023\n"));
	assert_int_equal(cpu_set_count(&set), 9);
	cpu_set_print(&set, text, sizeof(text));
	assert_string_equal(text, "0-3,8,10,12,14,1023");
	cpu_set_print(&set, text, 10);
	assert_string_equal(text, "0-3,8...");
	assert_true(cpu_set_parse(&set, " \n"));
	assert_int_equal(cpu_set_count(&set), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_false(cpu_set_parse(&set, wrong[i]));
		assert_int_equal(cpu_set_count(&set), 0);
	}
}

static void test_restrict(void **state)
{
	uint32_t missing;

	(void)state;
	write_small_machine();
	topology_read(&topology, tree_root);
	assert_int_equal(topology_restrict(&topology, "2-4,7", &missing), 0);
	assert_int_equal(topology.nb_cpus, 4);
	assert_int_equal(topology.cpus[3].id, 7);
	assert_int_equal(topology_restrict(&topology, "2,5-6", &missing), -1);
	assert_int_equal(missing, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_small_machine, make_tree, remove_tree),
		cmocka_unit_test_setup_teardown(test_offline_and_affinity, make_tree, remove_tree),
		cmocka_unit_test_setup_teardown(test_isolated, make_tree, remove_tree),
		cmocka_unit_test_setup_teardown(test_control_groups, make_tree, remove_tree),
		cmocka_unit_test_setup_teardown(test_empty, make_tree, remove_tree),
		cmocka_unit_test_setup_teardown(test_restrict, make_tree, remove_tree),
		cmocka_unit_test(test_this_machine),
		cmocka_unit_test(test_sets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
