/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Threads that take turns on one sketch (sketchtap-bench, --atomic lock): a flow table is as exact
 * as with one thread, and ThreadSanitizer finds no race.
 */

#include "bench/locked.h"
#include "feeders.h"
#include "sketch/flow_table/flow_table.h"

#define FLOWS   1000
#define PACKETS 20000 /* per thread */

static void add_packets(const struct sketch_candidate *candidate, void *arg)
{
	uint64_t *packets = arg;

	assert_true(zipf_flow(&candidate->key) < FLOWS);
	packets[zipf_flow(&candidate->key)] += candidate->packets;
}

static void test_exact(void **state)
{
	static uint64_t packets[FLOWS];
	const struct sketch_ops *locked = locked_sketch(&flow_table_ops);
	struct feeders feeders = {
		.sketch = feeders_sketch(
			locked, (struct sketch_params){.width = 4096, .writers = FEEDERS_MAX}),
		.nb_threads = FEEDERS_MAX,
		.nb_flows = FLOWS,
		.nb_packets = PACKETS,
		.exponent = 0.8,
		.append = feeder_append_new_first,
	};

	(void)state;
	feeders.sketch->ops = locked; /* the feeders call the sketch's ops */
	feeders_run(&feeders);
	locked->candidates(feeders.sketch, add_packets, packets);
	for (uint32_t f = 0; f < FLOWS; f++)
		assert_int_equal(packets[f], feeders_packets(&feeders, f));
	feeders_close(&feeders);
	locked->destroy(feeders.sketch);
}

/* Every sketch has a locked variant that differs in the slot for shared updates only. */
static void test_all(void **state)
{
	(void)state;
	for (uint32_t s = 0; sketches[s] != NULL; s++) {
		const struct sketch_ops *locked = locked_sketch(sketches[s]);

		assert_string_equal(locked->name, sketches[s]->name);
		assert_ptr_equal(
			locked->update[SHARING_SEPARATE], sketches[s]->update[SHARING_SEPARATE]);
		assert_ptr_not_equal(
			locked->update[SHARING_SHARED], sketches[s]->update[SHARING_SHARED]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
