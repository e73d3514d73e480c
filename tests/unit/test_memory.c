/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory is on the requested node, as the kernel reports it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "parallel/plan/topology.h"
#include "parallel/workers/node_memory.h"

#define SIZE ((size_t)3 << 20)

static struct topology topology;

static int read_topology(void **state)
{
	(void)state;
	topology_read(&topology, "");
	return 0;
}

/*
 * Takes memory for a node and returns the tally; its pages are 0 if the kernel does not report
 * them.
 */
static struct memory_tally take(int node)
{
	struct sketch_allocator allocator = node_memory_on_node(node);
	unsigned char *memory;

	node_memory_take_tally(node);
	memory = allocator.alloc(SIZE, allocator.arg);
	assert_non_null(memory);
	for (size_t i = 0; i < SIZE; i += 512)
		assert_int_equal(memory[i], 0);
	node_memory_move(memory + 1, SIZE - 2, node);
	node_memory_look(memory, SIZE, node);
	allocator.free(memory, SIZE, allocator.arg);
	return node_memory_take_tally(node);
}

static void test_on_its_node(void **state)
{
	(void)state;
	for (int node = 0; node < TOPOLOGY_NODES_MAX; node++) {
		if (!topology.nodes[node].known || topology.nodes[node].free_memory < 4 * SIZE)
			continue;
		assert_int_equal(take(node).elsewhere, 0);
		assert_int_equal(node_memory_take_tally(node).pages, 0); /* the tally was taken */
	}
}

/* A missing node gets nothing: all memory is elsewhere, and the tally shows this. */
static void test_elsewhere(void **state)
{
	struct memory_tally tally = take(TOPOLOGY_NODES_MAX - 1);

	(void)state;
	assert_int_equal(tally.elsewhere, tally.pages);
	if (tally.pages > 0)
		assert_true(topology.nodes[tally.where].known);
}

/* One page of hundreds causes no warning; one of a hundred is the limit. */
static void test_worth_a_word(void **state)
{
	const struct {
		struct memory_tally tally;
		bool misplaced;
	} cases[] = {
		{{.pages = 0}, false},
		{{.pages = 348}, false},
		{{.pages = 348, .elsewhere = 1}, false},
		{{.pages = 100, .elsewhere = 1}, false},
		{{.pages = 99, .elsewhere = 1}, true},
		{{.pages = 348, .elsewhere = 4}, true},
		{{.pages = 348, .elsewhere = 348}, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(node_memory_is_misplaced(&cases[i].tally), cases[i].misplaced);
}

static void test_anywhere(void **state)
{
	(void)state;
	assert_int_equal(take(-1).pages, 0);
	assert_true(node_memory_available() > SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_on_its_node),
		cmocka_unit_test(test_elsewhere),
		cmocka_unit_test(test_worth_a_word),
		cmocka_unit_test(test_anywhere),
	};

	return cmocka_run_group_tests(tests, read_topology, NULL);
}
