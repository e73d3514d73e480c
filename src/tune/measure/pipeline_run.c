/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune/measure/pipeline.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_log.h>

#include "base/assertion.h"
#include "base/log.h"
#include "tune/measure/setup.h"
#include "sketch/measurement.h"

#define NAP_NS 1000000

uint32_t pipeline_threads(const struct pipeline_setting *setting)
{
	return setting->workers + (design_find(setting->design)->rx_core) + !setting->external;
}

uint32_t pipeline_queues(const struct pipeline_setting *setting)
{
	return design_find(setting->design)->rx_core ? 1 : setting->workers;
}

struct pipeline_totals pipeline_add_up(const struct run *run)
{
	struct pipeline_totals totals = {0};

	for (uint32_t w = 0; w < run->nb_workers; w++) {
		const struct generation *generation = &run->workers[w]->generations[0];

		totals.received += generation->received;
		totals.counted += generation->counted;
		totals.measured += generation->measured;
		totals.rx += generation->rx_cycles;
		totals.count += generation->ppt_cycles;
		totals.free += generation->free_cycles;
	}
	for (uint32_t r = 0; r < run->nb_rx_cores; r++) {
		const struct rx_core_generation *generation = &run->rx_cores[r]->generations[0];

		totals.received += generation->received;
		for (uint32_t w = 0; w < run->nb_workers; w++)
			totals.ring_full += generation->ring_full[w];
		totals.rx += generation->rx_cycles;
	}
	return totals;
}

/* left: packets still in the rings, because the machine was too busy. */
static bool check(const struct pipeline_totals *totals, const struct load_generator_counts *counts,
	uint64_t left, char *error)
{
	if (totals->received + left == counts->taken &&
		totals->counted + totals->ring_full == totals->received &&
		totals->measured == totals->counted && totals->measured > 0)
		return true;
	snprintf(error, LOAD_GENERATOR_ERROR_MAX,
		"of %llu packets %llu were received, %llu lost between lcores and %llu measured: "
		"the figures are invalid",
		(unsigned long long)counts->taken, (unsigned long long)totals->received,
		(unsigned long long)totals->ring_full, (unsigned long long)totals->measured);
	return false;
}

static bool let_run(struct run *run, struct load_generator *generator, uint32_t milliseconds,
	struct load_generator_counts *counts)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	bool ran;

	run_start(run);
	ran = load_generator_run(generator, milliseconds, counts);
	epochs_end(run->epochs, 1);
	while (!run_finished(run))
		nanosleep(&nap, NULL);
	run_join(run);
	return ran;
}

struct pipeline_sample pipeline_sample_of(
	const struct pipeline_totals *totals, uint64_t offered, double seconds)
{
	double ns = 1e9 / (double)rte_get_tsc_hz() / (double)totals->counted;
	struct pipeline_sample sample = {
		.offered_pps = (double)offered / seconds,
		.measured_pps = (double)totals->measured / seconds,
		.drop_rate = (double)(offered - totals->counted) / (double)offered,
		.rejected = 1 - (double)totals->measured / (double)totals->counted,
		.rx_ns = (double)totals->rx * ns,
		.count_ns = (double)totals->count * ns,
		.free_ns = (double)totals->free * ns,
	};

	sample.delay_ns = sample.rx_ns + sample.count_ns + sample.free_ns;
	return sample;
}

static int pin_here(void *arg)
{
	const uint32_t *cpu = arg;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(*cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	return 0;
}

void pipeline_pin(uint32_t nb_lcores, const uint32_t *cpus, uint32_t nb_cpus)
{
	VERIFY(nb_cpus, >, 0u);
	for (uint32_t i = 1; i < nb_lcores; i++) {
		uint32_t cpu = cpus[(i - 1) % nb_cpus];

		rte_eal_remote_launch(pin_here, &cpu, i);
		rte_eal_wait_lcore(i);
	}
}

struct port pipeline_port(const char *name, uint16_t id, const struct config *config)
{
	struct port port = {
		.id = id,
		.node = PLAN_NODE_ANY,
		.config = config,
		.driver = port_driver_find("net_ring"),
	};

	snprintf(port.name, sizeof(port.name), "%s", name);
	snprintf(port.device, sizeof(port.device), "%s", name);
	return port;
}

/* Plans the size that a run would have found for its flows. */
static void fit_sketch(const struct bench_subject *subject, struct plan_measurement *m)
{
	if (subject->load <= 0)
		return;
	m->params.load = subject->load;
	m->params.width = subject->width;
	m->params.width6 = subject->width6;
	m->params.width_max = m->params.width;
	m->changes = m->ops->check(&m->params) == NULL;
	m->instance_bytes = m->ops->memory(&m->params);
}

bool pipeline_plan(const struct pipeline_setting *setting, const struct config *from,
	const struct topology *topology, const char *port, struct config *config, struct plan *plan,
	char *error)
{
	struct plan_ports ports = {.nb_ports = 1};

	ports.ports[0].name = port;
	ports.ports[0].node = PLAN_NODE_ANY;
	if (setting->rules != NULL)
		ports.rules = (struct plan_rules){
			.table_bytes = prefix_filter_bytes(setting->rules),
			.ordinary_bytes = prefix_ordinary_bytes(setting->rules),
			.worker_bytes = prefix_worker_bytes(setting->rules),
		};
	setup_run_config(config, from, &setting->subject);
	edit_design_options(config)->design = design_index(setting->design);
	edit_plan_options(config)->workers = setting->workers;
	edit_measurement_options(&config->measurements[0])->width =
		setting->subject.load > 0 ? 0 : setting->subject.width;
	if (setting->key != NULL)
		edit_measurement_options(&config->measurements[0])->key = *setting->key;
	if (!plan_make(plan, config, topology, &ports, error))
		return false;
	plan->measurements[0].ops = setting->subject.sketch;
	fit_sketch(&setting->subject, &plan->measurements[0]);
	return true;
}

static bool add_rules(struct run *run, const struct prefix_list *rules, char *error)
{
	size_t size = sizeof(*rules);
	struct prefix_list *copy;

	if (rules == NULL)
		return true;
	size += rules->n * sizeof(rules->rules[0]);
	copy = malloc(size);
	if (copy == NULL) {
		snprintf(error, LOAD_GENERATOR_ERROR_MAX, "out of memory for %u rules", rules->n);
		return false;
	}
	memcpy(copy, rules, size);
	return run_monitor(run, copy, error);
}

static bool run_offer(const struct pipeline_setting *setting, const struct config *from,
	const struct topology *topology, struct load_generator *generator, const uint32_t *cpus,
	uint32_t nb_cpus, uint32_t milliseconds, struct pipeline_sample *sample, char *error)
{
	static struct config config;
	static struct plan plan;
	struct port port = pipeline_port(
		load_generator_name(generator), load_generator_port(generator), &config);
	struct load_generator_counts counts = {0};
	struct pipeline_totals totals;
	struct run *run;
	bool right;

	if (!pipeline_plan(setting, from, topology, port.name, &config, &plan, error))
		return false;
	/* Here, unlike in the plan, the generator polls and the reporter sleeps. */
	plan.idle = pipeline_threads(setting) > nb_cpus ? IDLE_SLEEP : IDLE_SPIN;
	pipeline_pin(plan.nb_lcores, cpus, nb_cpus);
	run = run_create(&config, &plan, NULL, &port, 1, error);
	if (run == NULL)
		return false;
	if (!add_rules(run, setting->rules, error)) {
		run_destroy(run);
		return false;
	}
	right = let_run(run, generator, milliseconds, &counts);
	if (!right)
		snprintf(error, LOAD_GENERATOR_ERROR_MAX,
			"cannot start the thread of the generator");
	totals = pipeline_add_up(run);
	run_destroy(run);
	right = right && check(&totals, &counts, load_generator_left(generator), error);
	if (right)
		*sample = pipeline_sample_of(&totals, counts.offered, counts.seconds);
	return right;
}

bool pipeline_run(const struct pipeline_setting *setting, const struct config *from,
	const struct topology *topology, const uint32_t *cpus, uint32_t nb_cpus,
	uint32_t milliseconds, struct pipeline_sample *sample, char *error)
{
	struct load_generator_params params = {
		.workload = setting->workload,
		.nb_queues = pipeline_queues(setting),
		.mbufs = setting->mbufs,
		.size = setting->size,
		.rate = setting->rate,
		.cpu = cpus[(pipeline_threads(setting) - 1) % nb_cpus],
		.yield = pipeline_threads(setting) > nb_cpus,
	};
	int level = rte_log_get_level(log_type);
	struct load_generator *generator;
	bool right;

	generator = load_generator_create(&params, error);
	if (generator == NULL)
		return false;
	/* The generator fills the rings on purpose; no warnings. */
	rte_log_set_level((uint32_t)log_type, RTE_LOG_ERR);
	right = run_offer(
		setting, from, topology, generator, cpus, nb_cpus, milliseconds, sample, error);
	rte_log_set_level((uint32_t)log_type, (uint32_t)level);
	load_generator_destroy(generator);
	return right;
}
