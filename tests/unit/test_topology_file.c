/* SPDX-License-Identifier: BSD-3-Clause */

/* Descriptions of machines: what they may say, and what is said of those that are wrong. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "machine_text.h"

static void test_descriptions(void **state)
{
	static const struct {
		const char *text, *says;
	} wrong[] = {
		{"", "no CPU is described"},
		{"node 0 cpus=0-3\noffline 0-3\n", "no CPU is described"},
		{"\nnod 0 cpus=0\n", ":2: 'nod' is not one of node,"},
		{"node 0\n", "write node N cpus=LIST"},
		{"node 0 memory=1GB\n", "node 0 has no cpus=LIST"},
		{"node 64 cpus=0\n", "'64' is not a number below 64"},
		{"node 0 cpus=0-\n", "'0-' is not a list of CPUs"},
		{"node 0 cpus=1024\n", "is not a list of CPUs below 1024"},
		{"node 0 cpus=0-3\nnode 1 cpus=3\n", "CPU 3 is given twice"},
		{"node 0 cpus=0\nnode 0 cpus=1\n", "node 0 is given twice"},
		{"node 0 cpus=0-3 siblings=4-6\n", "are 3 CPUs and cpus= are 4"},
		{"node 0 cpus=0 colour=red\n", "'colour=red' is not one of cpus="},
		{"node 0 cpus=0 memory=1\nnode 1 cpus=1 memory=lots\n", ":2: 'lots'"},
		{"node 0 cpus=0\ndistance 0 1\n", "write distance A B D"},
		{"node 0 cpus=0\ndistance 0 1 9\n", "nearer than a node's own"},
		{"node 0 cpus=0\nport x node=1\n", "sits on node 1, which is not described"},
		{"node 0 cpus=0\nport x\n", "write port NAME node=N"},
		{"node 0 cpus=0\nport x node=0\nport x node=0\n", "port x is given twice"},
		{"node 0 cpus=0\nquota many\n", "write quota X"},
		{"node 0 cpus=0\nquota -1\n", "write quota X"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(load(wrong[i].text), TOPOLOGY_WRONG);
		if (strstr(error, wrong[i].says) == NULL)
			fail_msg("'%s' instead of '%s'", error, wrong[i].says);
	}
	assert_int_equal(topology_load(&machine, "/nonexistent", error), TOPOLOGY_UNREADABLE);
	assert_non_null(strstr(error, "/nonexistent: No such file"));
	assert_int_equal(topology_load(&machine, "/dev/zero", error), TOPOLOGY_WRONG);
}

static void test_description(void **state)
{
	(void)state;
	describe("# a machine\n"
		 " node 1 cpus=0-6:2 siblings=1-7:2 package=3 memory=2GB hugepages=4MB # odd ones\n"
		 "isolated 2-3\noffline 7\nquota 2.5\nport 0000:3b:00.0 node=1\n");
	assert_int_equal(machine.topology.nb_cpus, 7);
	assert_true(topology_same_core(cpu_by_id(2), cpu_by_id(3)));
	assert_false(topology_same_core(cpu_by_id(1), cpu_by_id(2)));
	assert_true(cpu_by_id(3)->isolated);
	assert_int_equal(cpu_by_id(0)->package, 3);
	assert_int_equal(machine.topology.nodes[1].free_hugepages, 4 << 20);
	assert_int_equal(machine.topology.memory, (uint64_t)2 << 30);
	assert_int_equal(topology_port_node(&machine, "0000:3b:00.0,mprq_en=1"), 1);
	assert_int_equal(topology_port_node(&machine, "0000:3b:00"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_descriptions),
		cmocka_unit_test(test_description),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
