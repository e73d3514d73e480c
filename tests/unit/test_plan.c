/* SPDX-License-Identifier: BSD-3-Clause */

/* The planner on simulated machines. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parallel/plan/plan.h"
#include "sketch/hyperloglog.h"
#include "sketch/measurement.h"
#include "parallel/plan/design.h"
#include "rx/port/port_name.h"

static struct topology topology;
static struct plan plan;
static char error[PLAN_TEXT_MAX];

/*
 * Makes packages x cores x threads, one NUMA node per package; thread t of all cores follows thread
 * t - 1.
 */
static void make_topology(uint32_t packages, uint32_t cores, uint32_t threads)
{
	topology.nb_cpus = 0;
	for (uint32_t t = 0; t < threads; t++)
		for (uint32_t p = 0; p < packages; p++)
			for (uint32_t c = 0; c < cores; c++) {
				topology.cpus[topology.nb_cpus] = (struct topology_cpu){
					.id = topology.nb_cpus,
					.core = c,
					.package = p,
					.node = (int)p,
				};
				topology.nb_cpus++;
			}
}

static struct config make_config(uint32_t workers)
{
	struct config config = {0};

	edit_design_options(&config)->design = design_index("rss");
	edit_async_options(&config)->ring_size = 1024;
	edit_plan_options(&config)->workers = workers;
	config.nb_measurements = 1;

	config.measurements[0].name = "main";
	*edit_measurement_options(&config.measurements[0]) = (struct measurement_options){
		.key = key_rules[0],
		.sketch = sketch_index(sketch_find("count-min")),
		.top = 100,
		.confidence = 0.999,
	};
	return config;
}

static bool make_design(const char *design, uint32_t workers, uint32_t nb_ports, int node)
{
	static struct config config; /* the plan points into it */
	struct plan_ports ports = {.nb_ports = nb_ports};

	for (uint32_t p = 0; p < nb_ports; p++)
		ports.ports[p].node = node;

	config = make_config(workers);
	edit_design_options(&config)->design = design_index(design);
	return plan_make(&plan, &config, &topology, &ports, error);
}

static bool make(uint32_t workers, uint32_t nb_ports, int node)
{
	return make_design("rss", workers, nb_ports, node);
}

static const struct plan_lcore *worker(uint32_t number)
{
	for (uint32_t i = 0; i < plan.nb_lcores; i++)
		if (plan.lcores[i].role == PLAN_WORKER && plan.lcores[i].worker == number)
			return &plan.lcores[i];
	fail_msg("no worker %u", number);
	return NULL;
}

/* No two polling lcores share a CPU, and worker numbers are unique. */
static void assert_apart(void)
{
	for (uint32_t i = 1; i < plan.nb_lcores; i++)
		for (uint32_t j = 1; j < i; j++)
			assert_int_not_equal(plan.lcores[i].cpu, plan.lcores[j].cpu);
	for (uint32_t w = 0; w < plan.nb_workers; w++)
		worker(w);
}

static void test_two_cpus_replay(void **state)
{
	(void)state;
	make_topology(1, 2, 1);
	assert_true(make(0, 0, PLAN_NODE_ANY));
	assert_int_equal(plan.nb_workers, 1);
	assert_int_equal(plan.nb_lcores, 3);
	assert_false(plan.oversubscribed);
	assert_int_equal(plan.nb_warnings, 0);
	assert_apart();
	/* The reporter shares the feeder's CPU, never the worker's; CPU 0 is left to the kernel. */
	assert_int_equal(worker(0)->cpu, 1);
	assert_int_equal(plan.lcores[0].cpu, plan.lcores[1].cpu);
}

static void test_two_cpus_port(void **state)
{
	(void)state;
	make_topology(1, 2, 1);
	assert_true(make(0, 1, PLAN_NODE_ANY));
	assert_int_equal(plan.nb_workers, 1);
	assert_int_equal(plan.nb_lcores, 2);
	assert_false(plan.oversubscribed);
	assert_int_not_equal(plan.lcores[0].cpu, worker(0)->cpu);
	/* Two workers leave no CPU for the reporter. */
	assert_true(make(2, 1, PLAN_NODE_ANY));
	assert_true(plan.oversubscribed);
}

static enum idle_mode idle_of(enum idle_mode wanted, uint32_t nb_ports, uint32_t nb_kernel)
{
	struct config config = make_config(1);
	struct plan_ports ports = {.nb_ports = nb_ports};

	edit_plan_options(&config)->idle = wanted;
	for (uint32_t p = 0; p < nb_kernel; p++)
		ports.ports[p].kernel = true;
	assert_true(plan_make(&plan, &config, &topology, &ports, error));
	assert_false(plan.oversubscribed);
	return plan.idle;
}

static void make_forwarding(
	const char *design, enum forward_mode mode, const int *nodes, uint32_t nb_ports)
{
	static struct config config; /* the plan points into it */
	struct plan_ports ports = {.nb_ports = nb_ports};

	for (uint32_t p = 0; p < nb_ports; p++)
		ports.ports[p].node = nodes[p];
	config = make_config(5);
	edit_design_options(&config)->design = design_index(design);
	edit_forward_options(&config)->mode = mode;
	assert_true(plan_make(&plan, &config, &topology, &ports, error));
}

/* A port has one send queue per queue that sends to it, on any node. */
static void test_forwarding(void **state)
{
	const int nodes[4] = {0, 1, 1, 1};
	uint32_t mbufs[2];

	(void)state;
	make_topology(2, 8, 1);
	make_forwarding("rss", FORWARD_OFF, nodes, 4);
	for (uint32_t g = 0; g < 2; g++)
		mbufs[g] = plan.groups[g].mbufs;
	assert_int_equal(plan.ports[0].send_queues, 0);
	make_forwarding("rss", FORWARD_PAIRS, nodes, 4);
	assert_int_equal(plan.groups[0].nb_queues + plan.groups[1].nb_queues, 5);
	for (uint32_t p = 0; p < 4; p++) {
		assert_int_equal(plan.ports[p].out, p ^ 1);
		assert_int_equal(
			plan.ports[p].send_queues, plan.groups[plan.ports[p ^ 1].group].nb_queues);
	}
	for (uint32_t g = 0; g < 2; g++)
		assert_true(plan.groups[g].mbufs > mbufs[g]);
	make_forwarding("rss", FORWARD_LOOP, nodes, 3);
	for (uint32_t p = 0; p < 3; p++) {
		assert_int_equal(plan.ports[p].out, p);
		assert_int_equal(
			plan.ports[p].send_queues, plan.groups[plan.ports[p].group].nb_queues);
	}
}

/* Off-path rings hold digests in ordinary memory, without packets. */
static void test_forwarding_off_path(void **state)
{
	const int nodes[2] = {0, 0};
	uint32_t mbufs;

	(void)state;
	make_topology(1, 16, 1);
	make_forwarding("async", FORWARD_OFF, nodes, 2);
	assert_int_equal(plan.ring_size, 1024);
	assert_int_equal(plan.digest_ring, 0);
	mbufs = plan.groups[0].mbufs;
	make_forwarding("async", FORWARD_PAIRS, nodes, 2);
	assert_int_equal(plan.ring_size, 0);
	assert_int_equal(plan.digest_ring, DIGEST_RING_DEFAULT);
	assert_int_equal(plan.digest_bytes, 5 * plan_digest_ring_bytes(DIGEST_RING_DEFAULT));
	assert_int_equal(plan_digest_ring_bytes(DIGEST_RING_DEFAULT), 1 << 20);
	assert_int_equal(plan_digest_bytes(key_rule_find("6tuple")->fields, false), 32);
	assert_int_equal(plan_digest_bytes(key_rule_find("6tuple")->fields, true), 64);
	assert_int_equal(plan_digest_bytes(key_rule_find("routers")->fields, false), 64);
	assert_int_equal(plan_digest_bytes(key_rule_find("routers")->fields, true), 96);
	assert_int_equal(plan.rule_bytes, plan.digest_bytes);
	assert_int_equal(plan.ports[1].send_queues, 1);
	assert_true(plan.groups[0].mbufs <= mbufs);
}

/* With kernel interfaces only, idle workers sleep; with a card they spin. */
static void test_idle(void **state)
{
	(void)state;
	make_topology(1, 4, 1);
	assert_int_equal(idle_of(IDLE_AUTO, 0, 0), IDLE_SPIN);
	assert_int_equal(idle_of(IDLE_AUTO, 1, 0), IDLE_SPIN);
	assert_int_equal(idle_of(IDLE_AUTO, 1, 1), IDLE_SLEEP);
	assert_int_equal(idle_of(IDLE_AUTO, 2, 2), IDLE_SLEEP);
	assert_int_equal(idle_of(IDLE_AUTO, 2, 1), IDLE_SPIN);
	assert_int_equal(idle_of(IDLE_SPIN, 1, 1), IDLE_SPIN);
}

static void test_oversubscribed(void **state)
{
	(void)state;
	make_topology(1, 2, 1);
	assert_true(make(4, 0, PLAN_NODE_ANY));
	assert_true(plan.oversubscribed);
	assert_int_equal(plan.idle, IDLE_SLEEP);
	assert_int_equal(plan.nb_warnings, 1);
	assert_int_equal(plan.nb_cpus, 2);
	for (uint32_t i = 0; i < plan.nb_lcores; i++)
		assert_int_equal(plan.lcores[i].cpu, -1);
}

static void test_one_cpu(void **state)
{
	(void)state;
	make_topology(1, 1, 1);
	assert_true(make(0, 0, PLAN_NODE_ANY));
	assert_int_equal(plan.nb_workers, 1);
	assert_true(plan.oversubscribed);
}

/* The machine of the paper: two packages of six cores. */
static void test_two_nodes(void **state)
{
	(void)state;
	make_topology(2, 6, 1);
	assert_true(make(5, 1, 1));
	assert_false(plan.oversubscribed);
	assert_int_equal(plan.nb_warnings, 0);
	assert_apart();
	for (uint32_t w = 0; w < 5; w++)
		assert_int_equal(worker(w)->node, 1);
	/* A seventh worker must use the other node, and the plan reports it. */
	assert_true(make(7, 1, 1));
	assert_int_equal(plan.nb_warnings, 1);
	assert_non_null(strstr(plan.warnings[0], "worker 6"));
	assert_int_equal(worker(6)->node, 0);
}

static void test_hyperthreads(void **state)
{
	(void)state;
	make_topology(2, 28, 2);
	assert_true(make(28, 1, 0));
	assert_apart();
	for (uint32_t i = 1; i < plan.nb_lcores; i++)
		for (uint32_t j = 1; j < i; j++) {
			const struct topology_cpu *a = &topology.cpus[plan.lcores[i].cpu];
			const struct topology_cpu *b = &topology.cpus[plan.lcores[j].cpu];

			assert_false(a->package == b->package && a->core == b->core);
		}
	/* Second threads of the node come before cores of the other node. */
	assert_true(make(40, 1, 0));
	for (uint32_t w = 0; w < 40; w++)
		assert_int_equal(worker(w)->node, 0);
}

static void test_defaults_scale(void **state)
{
	(void)state;
	make_topology(1, 8, 1);
	assert_true(make(0, 0, PLAN_NODE_ANY));
	assert_int_equal(plan.nb_workers, 6); /* feeder and reporter take one each */
	assert_true(make(0, 1, PLAN_NODE_ANY));
	assert_int_equal(plan.nb_workers, 7);
	make_topology(8, 16, 1);
	assert_true(make(0, 0, PLAN_NODE_ANY));
	assert_int_equal(plan.nb_workers, 16); /* limit of an ethdev made of rings */
	assert_false(make(17, 0, PLAN_NODE_ANY));
	assert_non_null(strstr(error, "--workers"));
}

static const struct plan_lcore *lcore_of(enum plan_role role)
{
	for (uint32_t i = 0; i < plan.nb_lcores; i++)
		if (plan.lcores[i].role == role)
			return &plan.lcores[i];
	fail_msg("no lcore has role %d", (int)role);
	return NULL;
}

/* With a receiver there is one queue for any number of workers, and one lcore more. */
static void test_receivers(void **state)
{
	static const char *const designs_with_one[] = {"async", "sync"};

	(void)state;
	for (uint32_t d = 0; d < 2; d++) {
		make_topology(2, 6, 1);
		assert_true(make_design(designs_with_one[d], 4, 1, 1));
		assert_int_equal(plan.groups[0].nb_queues, 1);
		assert_int_equal(plan.nb_lcores, 6);
		assert_apart();
		assert_int_equal(plan.nb_warnings, 0);
		/* The receiver of a port is on the port's node, like its workers. */
		assert_int_equal(lcore_of(PLAN_RECEIVER)->node, 1);
		assert_int_equal(plan.ring_size, d == 0 ? 1024 : 0);
		/*
		 * With a replay, rss is limited to 16 queues; one queue serves any number of
		 * workers.
		 */
		make_topology(4, 16, 1);
		assert_true(make_design(designs_with_one[d], 24, 0, PLAN_NODE_ANY));
		assert_apart();
		assert_int_equal(plan.nb_lcores, 27);
		/* Two CPUs: feeder, receiver and worker are one too many. */
		make_topology(1, 2, 1);
		assert_true(make_design(designs_with_one[d], 0, 0, PLAN_NODE_ANY));
		assert_int_equal(plan.nb_workers, 1);
		assert_true(plan.oversubscribed);
	}
}

static void test_memory(void **state)
{
	(void)state;
	make_topology(1, 8, 1);
	assert_true(make(4, 0, PLAN_NODE_ANY));
	/* Every ring is full, and every worker holds a burst. */
	assert_true(plan.groups[0].mbufs >= 4 * (plan.ports[0].descriptors + 64));
	assert_int_equal(plan.groups[0].mbufs & (plan.groups[0].mbufs + 1), 0);
	/* Two generations per worker, and the merged one. */
	assert_int_equal(plan.sketch_bytes,
		9 * (plan.measurements[0].instance_bytes + sizeof(struct hyperloglog)));
	assert_true(plan.measurements[0].instance_bytes > 4 * 262144 * 4);
}

/* Rings have the driver's size, and memory fits it. */
static void test_descriptors_of_a_driver(void **state)
{
	struct plan_ports ports = {.nb_ports = 2};
	struct config config = make_config(4);

	(void)state;
	make_topology(1, 8, 1);
	ports.ports[1].descriptors = 4096;
	edit_port_options(&config)->descriptors = 512;
	assert_true(plan_make(&plan, &config, &topology, &ports, error));
	assert_int_equal(plan.ports[0].descriptors, 512);
	assert_int_equal(plan.ports[1].descriptors, 4096);
	assert_int_equal(plan.nb_warnings, 1);
	assert_string_equal(
		plan.warnings[0], "port: descriptors ignored: its driver always uses 4096");
	assert_true(plan.groups[0].mbufs >= 4 * (512 + 4096));
}

/*
 * Changed measurements affect only sketches, in addition to the running ones; the rest of the plan
 * is unchanged.
 */
static void test_change(void **state)
{
	static struct plan changed;
	struct config config = make_config(3), other = make_config(3);
	struct plan_ports ports = {0};

	(void)state;
	make_topology(1, 8, 1);
	assert_true(plan_make(&plan, &config, &topology, &ports, error));
	other.nb_measurements = 2;
	edit_measurement_options(&other.measurements[0])->width = 1024;
	other.measurements[1] = other.measurements[0];
	other.measurements[1].name = "more";
	edit_measurement_options(&other.measurements[1])->sketch =
		sketch_index(sketch_find("simple-hash"));
	assert_true(plan_change(&changed, &plan, &other, &topology, error));
	assert_int_equal(changed.nb_measurements, 2);
	assert_ptr_equal(changed.measurements[1].config, &other.measurements[1]);
	assert_string_equal(changed.measurements[1].ops->name, "simple-hash");
	assert_int_equal(changed.nb_workers, plan.nb_workers);
	assert_memory_equal(changed.lcores, plan.lcores, sizeof(plan.lcores));
	assert_memory_equal(changed.groups, plan.groups, sizeof(plan.groups));
	assert_int_equal(changed.packet_bytes, plan.packet_bytes);
	assert_true(changed.sketch_bytes < plan.sketch_bytes);
	/* Changing back restores the size. */
	assert_true(plan_change(&changed, &changed, &config, &topology, error));
	assert_int_equal(changed.sketch_bytes, plan.sketch_bytes);

	topology.memory = plan.sketch_bytes - 1;
	assert_false(plan_change(&changed, &plan, &config, &topology, error));
	assert_true(changed.machine);
	assert_non_null(strstr(error, "in addition to running ones"));
	topology.memory++;
	assert_true(plan_change(&changed, &plan, &config, &topology, error));
	edit_measurement_options(&other.measurements[1])->memory = 16;
	edit_measurement_options(&other.measurements[1])->width = 0;
	assert_false(plan_change(&changed, &plan, &other, &topology, error));
	assert_false(changed.machine);
	topology.memory = 0;
}

/*
 * Tables are on the reporter's node, counters on the node of each worker; in addition to EAL's
 * memory, and refused without room.
 */
static void test_memory_of_rules(void **state)
{
	struct config config = make_config(3);
	struct plan_ports ports = {0};
	size_t before, packets;

	(void)state;
	make_topology(1, 8, 1);
	assert_true(plan_make(&plan, &config, &topology, &ports, error));
	before = plan.sketch_bytes;
	packets = plan.packet_bytes;
	assert_int_equal(plan.rule_bytes, 0);

	ports.rules = (struct plan_rules){
		.table_bytes = 1 << 20, .ordinary_bytes = 64 << 20, .worker_bytes = 10 << 20};
	assert_true(plan_make(&plan, &config, &topology, &ports, error));
	assert_int_equal(plan.rule_bytes, (64 + 3 * 10) << 20);
	assert_int_equal(plan.nodes[0].rule_bytes, plan.rule_bytes);
	assert_int_equal(plan.sketch_bytes, before);
	assert_int_equal(plan.packet_bytes, packets + (1 << 20));

	topology.memory = plan.sketch_bytes + plan.packet_bytes + plan.rule_bytes;
	assert_true(plan_make(&plan, &config, &topology, &ports, error));
	topology.memory--;
	assert_false(plan_make(&plan, &config, &topology, &ports, error));
	assert_non_null(strstr(error, "rules in ordinary memory 94 MB"));
}

/*
 * The controller's memory is on the reporter's node, and that of shedding on the node of each
 * worker.
 */
static void test_memory_of_keep_up(void **state)
{
	struct config config = make_config(3);
	struct plan_ports ports = {.policy = {.bytes = 1 << 20, .worker_bytes = 8 << 10}};

	(void)state;
	make_topology(1, 8, 1);
	assert_true(plan_make(&plan, &config, &topology, &ports, error));
	assert_int_equal(plan.rule_bytes, (1 << 20) + 3 * (8 << 10));
	assert_int_equal(plan_bytes_of_shedding(&plan), plan.rule_bytes);
	assert_int_equal(plan_bytes_of_rules(&plan), 0);
	topology.memory = plan.sketch_bytes + plan.packet_bytes + plan.rule_bytes - 1;
	assert_false(plan_make(&plan, &config, &topology, &ports, error));
	topology.memory = 0;
}

static void test_measurement_refused(void **state)
{
	struct config config = make_config(1);
	struct plan_ports ports = {0};

	(void)state;
	make_topology(1, 4, 1);
	edit_measurement_options(&config.measurements[0])->memory = 16;
	assert_false(plan_make(&plan, &config, &topology, &ports, error));
	assert_non_null(strstr(error, "--memory"));
}

static void test_print(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	make_topology(1, 4, 1);
	assert_true(make(2, 0, PLAN_NODE_ANY));
	plan_print(&plan, out);
	fclose(out);
	assert_non_null(strstr(text, "receives queue 1 of 1 port, updates sketch 1"));
	assert_non_null(strstr(text, "reads packets, distributes them to 2 rings of a port"));
	assert_non_null(strstr(text, "4 x 262144"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_cpus_replay),
		cmocka_unit_test(test_two_cpus_port),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_oversubscribed),
		cmocka_unit_test(test_one_cpu),
		cmocka_unit_test(test_two_nodes),
		cmocka_unit_test(test_hyperthreads),
		cmocka_unit_test(test_defaults_scale),
		cmocka_unit_test(test_receivers),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_descriptors_of_a_driver),
		cmocka_unit_test(test_change),
		cmocka_unit_test(test_memory_of_rules),
		cmocka_unit_test(test_memory_of_keep_up),
		cmocka_unit_test(test_measurement_refused),
		cmocka_unit_test(test_forwarding),
		cmocka_unit_test(test_forwarding_off_path),
		cmocka_unit_test(test_print),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
