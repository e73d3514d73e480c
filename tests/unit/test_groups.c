/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The engine with ports on two NUMA nodes, on a machine that may have one: the topology is
 * simulated, the ports are rings that the test fills, and the test is the reporter. Every packet of
 * a queue is counted once, in its epoch, by the worker or the group of the queue.
 */

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_eth_ring.h>
#include <rte_mbuf.h>

#include "base/log.h"
#include "parallel/run/eal.h"
#include "parallel/workers/node_memory.h"
#include "parallel/run/run.h"
#include "rx/packet/rss_hash.h"
#include "udp_source.h"
#include "sketch/measurement.h"
#include "parallel/plan/design.h"
#include "rx/port/port_name.h"

#define PORTS      3 /* nodes 0, 1 and unknown */
#define WORKERS    5 /* 3 and 2 per node */
#define QUEUES_MAX 3
#define ROUND      32 /* packets in transit at once */
#define EPOCHS     3
#define PER_EPOCH  1600
#define FLOWS      700

static struct topology topology;
static struct plan plan;
static struct rte_mempool *pool;
static struct rte_ring *rings[PORTS][QUEUES_MAX];

static struct config make_config(const char *design, uint32_t workers)
{
	struct config config = {0};

	edit_design_options(&config)->design = design_index(design);
	edit_plan_options(&config)->workers = workers;
	config.nb_measurements = 1;
	edit_seed_options(&config)->seed = 42;
	edit_hugepages_options(&config)->no_huge = true;
	edit_async_options(&config)->ring_size = 256;
	edit_port_options(&config)->descriptors = 64;
	edit_plan_options(&config)->idle = IDLE_YIELD;

	config.measurements[0].name = "flows";
	*edit_measurement_options(&config.measurements[0]) = (struct measurement_options){
		.key = *key_rule_find("5tuple"),
		.sketch = sketch_index(sketch_find("count-min")),
		.width = 4096,
		.top = 10,
	};
	return config;
}

/* Two nodes of eight CPUs. */
static void make_topology(void)
{
	memset(&topology, 0, sizeof(topology));
	for (uint32_t cpu = 0; cpu < 16; cpu++)
		topology.cpus[topology.nb_cpus++] = (struct topology_cpu){
			.id = cpu,
			.core = cpu % 8,
			.package = cpu / 8,
			.node = (int)(cpu / 8),
		};
}

/* Starts as many lcores as the largest plan has, on the CPUs of the machine. */
static int start(void **state)
{
	static struct topology here;
	struct config config = make_config("async", WORKERS + 1);
	struct plan_ports none = {0};
	char error[EAL_ERROR_MAX];

	(void)state;
	log_init(LOG_LEVEL_NOTICE, false);
	topology_read(&here, "");
	if (!plan_make(&plan, &config, &here, &none, error) || !eal_start(&plan, &config, error))
		return -1;
	make_topology();
	pool = pool_create("test", 1023, 0, 512, -1);
	return pool != NULL ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	rte_mempool_free(pool);
	eal_stop();
	return 0;
}

static void make_port(
	struct port *port, uint32_t p, uint32_t nb_queues, const struct config *config)
{
	static unsigned int instance; /* names are unique in the process */
	char name[32];
	int id;

	for (uint32_t q = 0; q < nb_queues; q++) {
		snprintf(name, sizeof(name), "rx%u", instance++);
		rings[p][q] = rte_ring_create(name, 256, -1, RING_F_SP_ENQ | RING_F_SC_DEQ);
		assert_non_null(rings[p][q]);
	}
	snprintf(name, sizeof(name), "port%u", instance++);
	id = rte_eth_from_rings(name, rings[p], nb_queues, rings[p], 1, 0);
	assert_true(id >= 0);
	*port = (struct port){
		.id = (uint16_t)id,
		.config = config,
		.driver = port_driver_find("net_ring"),
	};
	snprintf(port->name, sizeof(port->name), "%s", name);
}

static void free_rings(void)
{
	for (uint32_t p = 0; p < PORTS; p++)
		for (uint32_t q = 0; q < QUEUES_MAX; q++) {
			rte_ring_free(rings[p][q]);
			rings[p][q] = NULL;
		}
}

/* Packets fed to each queue in one epoch. */
struct fed {
	uint64_t queue[PORTS][QUEUES_MAX];
};

static struct rte_mbuf *make_packet(struct test_source *source)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	struct source_packet packet;
	struct parsed parsed;
	char *data;

	assert_non_null(mbuf);
	assert_true(source->source.next(&source->source, &packet) > 0);
	data = rte_pktmbuf_append(mbuf, (uint16_t)packet.wire_len);
	memset(data, 0, packet.wire_len);
	memcpy(data, packet.data, packet.captured);
	mbuf->hash.rss =
		rss_hash(parse_packet(packet.data, packet.captured, packet.link, &parsed), &parsed);
	mbuf->ol_flags |= RTE_MBUF_F_RX_RSS_HASH;
	return mbuf;
}

/* Feeds an epoch's packets and waits until all are counted and freed. */
static void feed(struct test_source *source, struct fed *fed)
{
	for (uint32_t i = 0; i < PER_EPOCH; i++) {
		uint32_t p = i % PORTS;
		uint32_t nb_queues = plan.groups[plan.ports[p].group].nb_queues;
		struct rte_mbuf *mbuf = make_packet(source);
		uint32_t q = mbuf->hash.rss % nb_queues;

		assert_int_equal(rte_ring_sp_enqueue(rings[p][q], mbuf), 0);
		fed->queue[p][q]++;
		if (i % ROUND == ROUND - 1 || i == PER_EPOCH - 1)
			while (rte_mempool_in_use_count(pool) > 0)
				sched_yield();
	}
}

static uint64_t fed_to_group(const struct fed *fed, uint32_t group)
{
	uint64_t sum = 0;

	for (uint32_t p = 0; p < PORTS; p++)
		for (uint32_t q = 0; q < QUEUES_MAX; q++)
			sum += plan.ports[p].group == group ? fed->queue[p][q] : 0;
	return sum;
}

static uint64_t fed_to_worker(const struct fed *fed, const struct worker *worker)
{
	uint64_t sum = 0;

	for (uint32_t p = 0; p < PORTS; p++)
		sum += plan.ports[p].group == worker->group ? fed->queue[p][worker->part] : 0;
	return sum;
}

static void check_epoch(const struct run *run, uint64_t epoch, const struct fed *fed)
{
	for (uint32_t g = 0; g < plan.nb_groups; g++) {
		const struct plan_group *group = &plan.groups[g];
		uint64_t counted = 0, received = 0, least = UINT64_MAX, most = 0;

		for (uint32_t w = 0; w < group->nb_workers; w++) {
			struct worker *worker = run->workers[group->first_worker + w];
			struct generation *generation = worker_generation(worker, epoch);

			assert_int_equal(worker->group, g);
			assert_int_equal(worker->part, w);
			assert_int_equal(generation->measured, generation->counted);
			counted += generation->counted;
			received += generation->received;
			least = generation->counted < least ? generation->counted : least;
			most = generation->counted > most ? generation->counted : most;
			if (run->nb_rx_cores == 0)
				assert_int_equal(generation->received, fed_to_worker(fed, worker));
		}
		if (run->nb_rx_cores > 0) {
			struct rx_core_generation *generation =
				rx_core_generation(run->rx_cores[g], epoch);

			for (uint32_t w = 0; w < group->nb_workers; w++)
				assert_int_equal(generation->ring_full[w], 0);
			received += generation->received;
		}
		assert_int_equal(received, fed_to_group(fed, g));
		assert_int_equal(counted, received);
		/* Packets are distributed by position, so the shares are even. */
		if (plan.design == &design_sync)
			assert_in_range(most - least, 0, 1);
	}
}

static void wait_until_closed(const struct run *run, uint64_t epoch)
{
	while (!epochs_is_closed(run->epochs, epoch))
		sched_yield();
}

static void merge_epoch(const struct run *run, uint64_t epoch, struct sketch *merged)
{
	for (uint32_t i = 0; i < plan.nb_instances; i++)
		assert_int_equal(merged->ops->merge(merged,
					 run_measurements(run, epoch)->sketches[epoch & 1][i][0]),
			0);
}

static struct sketch *make_sketch(void)
{
	struct sketch_params params = plan.measurements[0].params;

	params.allocator = sketch_allocator_malloc;
	return plan.measurements[0].ops->create(&params);
}

static void check_plan(void)
{
	assert_int_equal(plan.nb_groups, 2);
	assert_int_equal(plan.groups[0].nb_workers, 3);
	assert_int_equal(plan.groups[1].nb_workers, 2);
	assert_int_equal(plan.groups[0].nb_ports, 2);
	assert_int_equal(plan.groups[1].nb_ports, 1);
	for (uint32_t i = 1; i < plan.nb_lcores; i++)
		assert_int_equal(plan.lcores[i].node, plan.lcores[i].group);
}

static void run_groups(const char *design, enum sketch_sharing sharing, enum dispatch dispatch)
{
	struct config config = make_config(design, WORKERS);
	struct plan_ports nodes = {.nb_ports = PORTS};
	struct port ports[PORTS];
	struct test_source source = make_source(EPOCHS * PER_EPOCH, FLOWS, 1);
	struct fed fed[EPOCHS] = {0};
	struct sketch *merged, *direct;
	struct run *run;
	char error[RUN_ERROR_MAX];

	edit_plan_options(&config)->sharing = sharing;
	edit_async_options(&config)->dispatch = dispatch;
	nodes.ports[1].node = 1;
	nodes.ports[2].node = PLAN_NODE_ANY;
	assert_true(plan_make(&plan, &config, &topology, &nodes, error));
	check_plan();
	for (uint32_t p = 0; p < PORTS; p++)
		make_port(&ports[p], p, plan.groups[plan.ports[p].group].nb_queues, &config);
	run = run_create(&config, &plan, NULL, ports, PORTS, error);
	if (run == NULL)
		fail_msg("%s", error);
	assert_ptr_not_equal(run->pools[0], run->pools[1]);
	assert_int_equal(run->nb_rx_cores, plan.design == &design_rss ? 0 : 2);
	merged = make_sketch();
	run_start(run);
	for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
		feed(&source, &fed[epoch]);
		if (epoch + 1 < EPOCHS)
			epochs_open(run->epochs, epoch + 1);
		else
			epochs_end(run->epochs, epoch + 1);
		wait_until_closed(run, epoch);
		check_epoch(run, epoch, &fed[epoch]);
		merge_epoch(run, epoch, merged);
		assert_true(run_recycle(run, epoch));
	}
	run_join(run);
	assert_true(run_finished(run));
	run_destroy(run);
	free_rings();

	source.next = 0;
	direct = make_sketch();
	feed_directly(direct, &measurement_options(&config.measurements[0])->key,
		seed_options(&config)->seed, &source);
	assert_same_estimates(merged, direct, &measurement_options(&config.measurements[0])->key,
		seed_options(&config)->seed, FLOWS);
	direct->ops->destroy(direct);
	merged->ops->destroy(merged);
}

static void test_rss(void **state)
{
	(void)state;
	run_groups("rss", SHARING_SEPARATE, DISPATCH_FLOW);
	run_groups("rss", SHARING_SHARED, DISPATCH_FLOW);
}

static void test_async(void **state)
{
	(void)state;
	run_groups("async", SHARING_SEPARATE, DISPATCH_FLOW);
	run_groups("async", SHARING_SEPARATE, DISPATCH_ROUND_ROBIN);
	run_groups("async", SHARING_SHARED, DISPATCH_FLOW);
}

static void test_sync(void **state)
{
	(void)state;
	run_groups("sync", SHARING_SEPARATE, DISPATCH_FLOW);
	run_groups("sync", SHARING_SHARED, DISPATCH_FLOW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rss),
		cmocka_unit_test(test_async),
		cmocka_unit_test(test_sync),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
