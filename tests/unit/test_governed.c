/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The controller with 120 simulated workers. They report packet times by a virtual clock and apply
 * its settings.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_log.h>

#include "base/log.h"
#include "capture.h"
#include "control/shed_controller.h"
#include "eal.h"
#include "parallel/epoch.h"
#include "parallel/shed/shed_options.h"
#include "sketch/measurement.h"

#define WORKERS      120
#define MEASUREMENTS 3
#define WINDOW_NS    10000000
#define WINDOWS      10 /* windows per interval */
#define DEADLINE     5  /* intervals */
#define FIXED_NS     20.0
#define PARSE_NS     10.0
#define SKETCH_NS    30.0
#define CHEAP_NS     3.0
#define LOAD         1.5 /* relative to full capacity */
#define CALM_LOAD    0.5

#define ALL  WORKERS
#define NONE (WORKERS + 1)

static struct config config;
static struct plan plan;
static struct topology topology;

struct stage {
	struct run run;
	struct epochs epochs;
	struct measurements *set;
	const struct shed_setting *has[WORKERS]; /* setting of each worker; NULL: full detail */
	struct shed_controller *controller;
	int64_t now;
	uint64_t open;
	bool whole[MEASUREMENTS]; /* full detail for all workers in the open interval */
	uint32_t busy;            /* workers whose packets took longer than allowed */
	uint32_t stalled;         /* index of the worker that does nothing; WORKERS: none */
	uint32_t flooded;         /* index of the only overloaded worker; or ALL, NONE */
	double sketch_ns[MEASUREMENTS];
	int64_t offset; /* adjustment of the wall clock, ns */
	struct worker *workers;
};

static const char *const names[MEASUREMENTS] = {"late", "first", "second"};
static const char *const steps[MEASUREMENTS] = {"rate:1/4, off", "rate:1/2, off", "rate:1/2, off"};

static void make_measurement(uint32_t m, const char *may_give_up)
{
	struct measurement_config *measurement = &config.measurements[m];

	*measurement = (struct measurement_config){.name = names[m]};
	*edit_measurement_options(measurement) = (struct measurement_options){
		.key = *key_rule_find("5tuple"),
		.sketch = sketch_index(sketch_find("flow-table")),
		.width = 64,
		.top = 10,
	};
	*edit_steps_options(measurement) = (struct steps_options){
		.priority = m == 0 ? 2 : 1,
		.steps = may_give_up,
		.deadline = m == 0 ? (uint64_t)DEADLINE * WINDOWS * WINDOW_NS : 0,
	};
}

/* Creates a stage with these steps of the second measurement; the others have those above. */
static int create_with(void **state, enum shed_policy how, const char *second, double second_ns)
{
	static const struct profile nothing;
	struct stage *stage = aligned_alloc(64, sizeof(*stage));
	struct plan_ports ports = {0};
	char error[PLAN_TEXT_MAX];

	memset(stage, 0, sizeof(*stage));
	config = (struct config){.nb_measurements = MEASUREMENTS};
	edit_plan_options(&config)->sharing = SHARING_SEPARATE;
	edit_plan_options(&config)->workers = 1;
	edit_hugepages_options(&config)->no_huge = true;
	edit_epoch_options(&config)->interval = (uint64_t)WINDOWS * WINDOW_NS;
	*edit_shed_policy_options(&config) =
		(struct shed_policy_options){.policy = how, .reserve = 0.1};
	for (uint32_t m = 0; m < MEASUREMENTS; m++) {
		make_measurement(m, m == 1 ? second : steps[m]);
		stage->sketch_ns[m] = m == 1 ? second_ns : SKETCH_NS;
	}
	if (!plan_make(&plan, &config, &topology, &ports, error))
		return -1;
	stage->run = (struct run){
		.config = &config, .plan = &plan, .epochs = &stage->epochs, .nb_workers = WORKERS};
	hash_key_init(&stage->run.hash_key, 1);
	epochs_init(&stage->epochs, 0);
	stage->set = measurements_create(&plan, &stage->run.hash_key, false, true);
	stage->workers = aligned_alloc(64, WORKERS * sizeof(*stage->workers));
	if (stage->set == NULL || stage->workers == NULL)
		return -1;
	memset(stage->workers, 0, WORKERS * sizeof(*stage->workers));
	stage->run.measurements[0] = stage->run.measurements[1] = stage->set;
	for (uint32_t w = 0; w < WORKERS; w++) {
		stage->workers[w].id = w;
		stage->run.workers[w] = &stage->workers[w];
		for (uint32_t g = 0; g < 2; g++)
			measurements_give(stage->set, &stage->workers[w].generations[g], 0, g);
	}
	stage->now = 1;
	stage->stalled = WORKERS;
	stage->flooded = ALL;
	stage->controller = shed_controller_create(&stage->run, &nothing);
	*state = stage;
	return stage->controller != NULL ? 0 : -1;
}

static int create(void **state)
{
	return create_with(state, SHED_POLICY_ADAPT, steps[1], SKETCH_NS);
}

/* With this cheap table, selecting keys takes longer than it saves. */
static int create_useless(void **state)
{
	return create_with(state, SHED_POLICY_GREEDY, "keys:1/2, off", CHEAP_NS);
}

static int destroy(void **state)
{
	struct stage *stage = *state;

	shed_controller_destroy(stage->controller);
	measurements_destroy(stage->set);
	free(stage->workers);
	free(stage);
	return 0;
}

/* Returns the time per packet of a worker with this setting. */
static double packet_ns(const struct stage *stage, const struct shed_setting *setting)
{
	double ns = FIXED_NS, most = 0;

	for (uint32_t m = 0; m < MEASUREMENTS; m++) {
		bool off = setting != NULL && (setting->off >> m & 1) != 0;
		double share = off ? 0 : setting != NULL ? 1.0 / (1U << setting->shift[m]) : 1;

		ns += stage->sketch_ns[m] * share;
		most = share > most ? share : most;
	}
	return ns + PARSE_NS * most;
}

static void add(_Atomic uint64_t *sum, double value)
{
	atomic_store(sum, atomic_load(sum) + (uint64_t)value);
}

/* Every worker applies its setting and works for `windows` windows. */
static void work(struct stage *stage, uint32_t windows)
{
	stage->busy = 0;
	for (uint32_t w = 0; w < WORKERS; w++) {
		struct shed_mailbox *line = &stage->workers[w].states;
		const struct shed_setting *setting = atomic_load(&line->next);
		double load = stage->flooded == ALL || stage->flooded == w ? LOAD : CALM_LOAD;
		double full_ns = packet_ns(stage, NULL);
		double ns, packets = load * windows * WINDOW_NS / full_ns;

		if (w == stage->stalled)
			continue;
		if (setting != NULL) {
			atomic_store(
				&line->taken_from, atomic_load(&line->packets[SHED_LEVEL_FULL]));
			atomic_store(&line->taken, setting->number);
			stage->has[w] = setting;
		}
		ns = packet_ns(stage, stage->has[w]);
		add(&line->packets[SHED_LEVEL_FULL], packets);
		add(&line->smooth_packets, packets);
		add(&line->smooth_busy, packets * ns * (double)rte_get_tsc_hz() / 1e9);
		stage->busy += ns > full_ns / load;
		for (uint32_t m = 0; m < MEASUREMENTS; m++)
			stage->whole[m] &= stage->has[w] == NULL || stage->has[w]->step[m] == 0;
	}
	stage->now += (int64_t)windows * WINDOW_NS;
	shed_controller_look(stage->controller, stage->now, stage->open);
}

static void end_interval(struct stage *stage)
{
	struct report_epoch *report = report_epoch_alloc(MEASUREMENTS, WORKERS);

	assert_non_null(report);
	report->number = stage->open;
	report->end = stage->now + stage->offset;
	for (uint32_t w = 0; w < WORKERS; w++) {
		struct costs *costs = &report->costs[w];

		*costs = (struct costs){.bursts = 16,
			.packets = 1000,
			.receive = 1000 * (uint64_t)FIXED_NS,
			.parse = 1000 * (uint64_t)PARSE_NS};
		for (uint32_t m = 0; m < MEASUREMENTS; m++)
			costs->sketch[m] = (uint64_t)(1000 * stage->sketch_ns[m]);
	}
	for (uint32_t m = 0; m < MEASUREMENTS; m++) {
		report->measurements[m].looked_at = stage->whole[m] ? 1 : 0.5;
		report->measurements[m].weight = stage->whole[m] ? 1 : 2;
	}
	assert_true(shed_controller_close(stage->controller, stage->open, report));
	report_epoch_free(report);
	epochs_recycle(&stage->epochs, stage->open);
	stage->open++;
	epochs_open(&stage->epochs, stage->open);
}

/* Runs an interval. Returns the number of windows in which a worker was overloaded. */
static uint32_t work_interval(struct stage *stage)
{
	uint32_t busy = 0;

	memset(stage->whole, 1, sizeof(stage->whole));
	for (uint32_t w = 0; w < WINDOWS; w++) {
		work(stage, 1);
		busy += stage->busy > 0;
	}
	end_interval(stage);
	return busy;
}

/* The lowest-ranked measurement gets a full interval under overload, and no worker falls behind. */
static void test_deadline(void **state)
{
	struct stage *stage = *state;
	uint32_t whole = 0, since = 0;

	work_interval(stage);
	for (uint32_t i = 0; i < 12 * DEADLINE; i++) {
		assert_int_equal(work_interval(stage), 0);
		since = stage->whole[0] ? 0 : since + 1;
		whole += stage->whole[0];
		assert_true(since < DEADLINE);
		assert_true(stage->whole[0] || (stage->whole[1] && stage->whole[2]) || since > 0);
	}
	/* Not more often than that. */
	assert_in_range(whole, 12, 24);
}

/*
 * Without decisions for seconds, workers keep their settings; after that everything continues as
 * before.
 */
static void test_reporter_stands_still(void **state)
{
	struct stage *stage = *state;

	for (uint32_t i = 0; i < 3; i++)
		work_interval(stage);
	work(stage, 300);
	assert_int_equal(stage->busy, 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(work_interval(stage), 0);
}

/* A worker that does not respond keeps its setting, independent of the others. */
static void test_stalled(void **state)
{
	struct stage *stage = *state;
	struct shed_setting kept;

	for (uint32_t i = 0; i < 3; i++)
		work_interval(stage);
	stage->stalled = 7;
	assert_non_null(stage->has[7]);
	kept = *stage->has[7];
	for (uint32_t i = 0; i < 2 * DEADLINE; i++)
		assert_int_equal(work_interval(stage), 0);
	assert_memory_equal(stage->has[7], &kept, sizeof(kept));
	stage->stalled = WORKERS;
	work_interval(stage);
	assert_int_equal(work_interval(stage), 0);
	assert_true(stage->has[7]->number > kept.number);
}

/* One port floods its worker: only this worker reduces detail. */
static void test_one_floods(void **state)
{
	struct stage *stage = *state;

	stage->flooded = 7;
	work_interval(stage);
	for (uint32_t i = 0; i < DEADLINE - 2; i++)
		assert_int_equal(work_interval(stage), 0);
	for (uint32_t w = 0; w < WORKERS; w++) {
		const struct shed_setting *has = stage->has[w];
		bool gives_up = has != NULL && (has->step[0] | has->step[1] | has->step[2]) != 0;

		assert_int_equal(gives_up, w == stage->flooded);
	}
}

/* A step that saves nothing is reported once, and no worker keeps it. */
static void test_useless_step(void **state)
{
	struct stage *stage = *state;
	char text[4096], *line;

	stage->flooded = NONE;
	capture_begin();
	log_init(LOG_LEVEL_WARNING, false);
	rte_log_set_global_level(RTE_LOG_WARNING);
	for (uint32_t i = 0; i < 3; i++)
		work_interval(stage);
	rte_log_set_global_level(RTE_LOG_EMERG);
	capture_end(text, sizeof(text));
	line = strstr(text,
		"warning: first: step keys:1/2 ignored: it saves no time (6.83 ns per packet, "
		"6.33 ns before)");
	assert_non_null(line);
	assert_null(strstr(strchr(line, '\n'), "saves no time"));
	stage->flooded = ALL;
	work_interval(stage);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(work_interval(stage), 0);
		for (uint32_t w = 0; w < WORKERS; w++) {
			assert_true(stage->has[w]->step[0] > 0);
			assert_true(stage->has[w]->step[1] != 1);
		}
	}
}

/*
 * The wall clock is set forward and back by an hour: decisions use another clock and do not change.
 */
static void test_clock_is_set(void **state)
{
	static const int64_t sets[] = {INT64_C(3600000000000), INT64_C(-3600000000000), 0};
	struct stage *stage = *state;

	for (uint32_t i = 0; i < 3; i++)
		work_interval(stage);
	for (uint32_t s = 0; s < RTE_DIM(sets); s++) {
		uint32_t since = 0;

		stage->offset = sets[s];
		for (uint32_t i = 0; i < 2 * DEADLINE; i++) {
			assert_int_equal(work_interval(stage), 0);
			since = stage->whole[0] ? 0 : since + 1;
			assert_true(since <= DEADLINE);
		}
	}
}

static int begin(void **state)
{
	(void)state;
	topology_read(&topology, "");
	return eal_begin("test_governed", 64);
}

static int end(void **state)
{
	(void)state;
	return eal_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_deadline, create, destroy),
		cmocka_unit_test_setup_teardown(test_reporter_stands_still, create, destroy),
		cmocka_unit_test_setup_teardown(test_stalled, create, destroy),
		cmocka_unit_test_setup_teardown(test_one_floods, create, destroy),
		cmocka_unit_test_setup_teardown(test_clock_is_set, create, destroy),
		cmocka_unit_test_setup_teardown(test_useless_step, create_useless, destroy),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
