/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_mbuf.h>

#include "base/log.h"
#include "parallel/memory.h"

static int worker_lcore(void *arg)
{
	struct worker *worker = arg;
	const struct run *run = worker->run;

	run->design->work(worker);
	/* Pairs with the acquire in run_finished(). */
	atomic_store_explicit(&worker->finished, true, memory_order_release);
	return 0;
}

static void *alloc_on_node(int node, size_t size)
{
	struct sketch_allocator allocator = memory_on_node(node);

	return allocator.alloc(size, allocator.arg);
}

/* Which distinct key rules the measurements ask for; rule 0 is the 5-tuple that parsing gives. */
static void assign_rules(struct worker *worker, const struct plan *plan)
{
	worker->rules[0] = &key_rules[0];
	worker->nb_rules = 1;
	for (uint32_t m = 0; m < plan->nb_measurements; m++) {
		uint32_t r = 0;

		while (r < worker->nb_rules &&
			worker->rules[r] != plan->measurements[m].config->key)
			r++;
		if (r == worker->nb_rules)
			worker->rules[worker->nb_rules++] = plan->measurements[m].config->key;
		worker->rule_of[m] = r;
	}
}

static bool create_instances(struct worker *worker, const struct plan *plan, int node)
{
	for (uint32_t g = 0; g < 2; g++) {
		parse_counts_reset(&worker->generations[g].counts);
		for (uint32_t m = 0; m < plan->nb_measurements; m++) {
			const struct plan_measurement *measurement = &plan->measurements[m];
			struct instance *instance = &worker->generations[g].instances[m];
			struct sketch_params params = measurement->params;

			params.allocator = memory_on_node(node);
			instance->sketch = measurement->ops->create(&params);
			instance->distinct = params.allocator.alloc(
				sizeof(*instance->distinct), params.allocator.arg);
			if (instance->sketch == NULL || instance->distinct == NULL)
				return false;
		}
	}
	return true;
}

static struct worker *create_worker(struct run *run, uint32_t id, const struct plan_lcore *lcore)
{
	const struct plan *plan = run->plan;
	struct worker *worker = alloc_on_node(lcore->node, sizeof(*worker));

	if (worker == NULL)
		return NULL;
	run->workers[run->nb_workers++] = worker;
	worker->id = id;
	worker->run = run;
	worker->replay = plan->replay;
	worker->yield = plan->yield;
	worker->epochs = run->epochs;
	worker->hash_key = &run->hash_key;
	worker->sharing = SHARING_SEPARATE;
	worker->nb_measurements = plan->nb_measurements;
	for (uint32_t m = 0; m < plan->nb_measurements; m++)
		worker->ops[m] = plan->measurements[m].ops;
	assign_rules(worker, plan);
	worker->bursts = alloc_on_node(lcore->node, worker->nb_rules * sizeof(worker->bursts[0]));
	if (worker->bursts == NULL || !create_instances(worker, plan, lcore->node))
		return NULL;
	worker->nb_queues = plan->nb_ports;
	for (uint32_t p = 0; p < plan->nb_ports; p++)
		worker->queues[p] = (struct worker_queue){
			.port = plan->replay ? feeder_port(run->feeder) : run->ports[p].id,
			.queue = (uint16_t)id,
		};
	return worker;
}

static bool create_workers(struct run *run, char *error)
{
	for (uint32_t i = 0; i < run->plan->nb_lcores; i++) {
		const struct plan_lcore *lcore = &run->plan->lcores[i];

		if (lcore->role == PLAN_WORKER &&
			create_worker(run, lcore->worker, lcore) == NULL) {
			snprintf(error, RUN_ERROR_MAX,
				"no memory for the sketches, %zu MB in all: lower --width, "
				"--memory or "
				"--workers",
				run->plan->sketch_bytes >> 20);
			return false;
		}
	}
	return true;
}

static bool start_ports(struct run *run, char *error)
{
	const struct plan *plan = run->plan;

	run->pool = rte_pktmbuf_pool_create(
		"ports", plan->mbufs, 256, 0, (uint16_t)plan->mbuf_room, plan->port_node);
	if (run->pool == NULL) {
		snprintf(error, RUN_ERROR_MAX,
			"no memory for %u mbufs of %u bytes: %s; lower --mbufs", plan->mbufs,
			plan->mbuf_room, rte_strerror(rte_errno));
		return false;
	}
	for (uint32_t p = 0; p < run->nb_ports; p++) {
		char warning[PORT_ERROR_MAX];

		if (!port_start(&run->ports[p], (uint16_t)plan->nb_workers, plan->descriptors,
			    run->pool, warning, error))
			return false;
		if (warning[0] != '\0')
			log_warning("%s", warning);
		if (!run->ports[p].driver->counts_losses)
			log_warning(
				"%s: its driver does not count the packets that it loses: upper "
				"bounds and confidence stay empty",
				run->ports[p].name);
	}
	return true;
}

static bool create_feeder(struct run *run, struct source *source, char *error)
{
	const struct plan *plan = run->plan;
	const struct config *config = run->config;
	struct feeder_params params = {
		.source = source,
		.epochs = run->epochs,
		.nb_queues = plan->nb_workers,
		.descriptors = plan->descriptors,
		.mbufs = plan->mbufs,
		.mbuf_room = plan->mbuf_room,
		.node = plan->port_node,
		.pace = config->pace,
		.pace_rate = config->pace_rate,
		.interval = config->interval,
		.packets = config->packets,
		.duration = config->duration,
		.yield = plan->yield,
	};

	run->feeder = feeder_create(&params, error);
	return run->feeder != NULL;
}

struct run *run_create(const struct config *config, const struct plan *plan, struct source *source,
	struct port *ports, uint32_t nb_ports, char *error)
{
	struct run *run = calloc(1, sizeof(*run));

	if (run != NULL)
		run->epochs = aligned_alloc(alignof(struct epochs), sizeof(*run->epochs));
	if (run == NULL || run->epochs == NULL) {
		snprintf(error, RUN_ERROR_MAX, "no memory for the run");
		free(run);
		return NULL;
	}
	run->config = config;
	run->plan = plan;
	run->ports = ports;
	run->nb_ports = nb_ports;
	run->design = design_find(plan->design);
	epochs_init(run->epochs, plan->nb_workers);
	hash_key_init(&run->hash_key, config->seed);
	if (plan->sketch_bytes > memory_available()) {
		snprintf(error, RUN_ERROR_MAX,
			"the sketches take %zu MB and %zu MB are free: lower --width, --memory or "
			"--workers",
			plan->sketch_bytes >> 20, memory_available() >> 20);
	} else if ((plan->replay ? create_feeder(run, source, error) : start_ports(run, error)) &&
		   create_workers(run, error)) {
		return run;
	}
	run_destroy(run);
	return NULL;
}

void run_start(struct run *run)
{
	uint32_t feeder_lcore = 0;

	for (uint32_t i = 0; i < run->plan->nb_lcores; i++) {
		const struct plan_lcore *lcore = &run->plan->lcores[i];

		if (lcore->role == PLAN_WORKER)
			rte_eal_remote_launch(worker_lcore, run->workers[lcore->worker], i);
		else if (lcore->role == PLAN_FEEDER)
			feeder_lcore = i;
	}
	if (run->feeder != NULL)
		rte_eal_remote_launch(feeder_work, run->feeder, feeder_lcore);
}

void run_stop(struct run *run)
{
	if (run->feeder != NULL)
		feeder_stop(run->feeder);
	for (uint32_t p = 0; p < run->nb_ports; p++)
		port_silence(&run->ports[p]);
}

bool run_finished(const struct run *run)
{
	for (uint32_t w = 0; w < run->nb_workers; w++)
		/* Pairs with the release in worker_lcore(). */
		if (!atomic_load_explicit(&run->workers[w]->finished, memory_order_acquire))
			return false;
	return run->feeder == NULL || feeder_finished(run->feeder);
}

void run_join(struct run *run)
{
	for (uint32_t i = 1; i < run->plan->nb_lcores; i++)
		rte_eal_wait_lcore(i);
}

static void destroy_worker(struct run *run, struct worker *worker)
{
	struct sketch_allocator allocator = memory_on_node(PLAN_NODE_ANY);

	for (uint32_t g = 0; g < 2; g++)
		for (uint32_t m = 0; m < run->plan->nb_measurements; m++) {
			struct instance *instance = &worker->generations[g].instances[m];

			if (instance->sketch != NULL)
				instance->sketch->ops->destroy(instance->sketch);
			if (instance->distinct != NULL)
				allocator.free(instance->distinct, sizeof(*instance->distinct),
					allocator.arg);
		}
	if (worker->bursts != NULL)
		allocator.free(worker->bursts, worker->nb_rules * sizeof(worker->bursts[0]),
			allocator.arg);
	allocator.free(worker, sizeof(*worker), allocator.arg);
}

void run_destroy(struct run *run)
{
	for (uint32_t w = 0; w < run->nb_workers; w++)
		destroy_worker(run, run->workers[w]);
	if (run->feeder != NULL)
		feeder_destroy(run->feeder);
	for (uint32_t p = 0; p < run->nb_ports; p++)
		port_stop(&run->ports[p]);
	rte_mempool_free(run->pool);
	free(run->epochs);
	free(run);
}

void run_recycle(struct run *run, uint64_t epoch)
{
	for (uint32_t w = 0; w < run->nb_workers; w++) {
		struct generation *generation = worker_generation(run->workers[w], epoch);

		if (generation->received == 0)
			continue; /* it is clean */
		generation->received = 0;
		generation->measured = 0;
		generation->rx_cycles = generation->ppt_cycles = generation->free_cycles = 0;
		parse_counts_reset(&generation->counts);
		for (uint32_t m = 0; m < run->plan->nb_measurements; m++) {
			generation->instances[m].sketch->ops->reset(
				generation->instances[m].sketch);
			hyperloglog_reset(generation->instances[m].distinct);
		}
	}
	epochs_recycle(run->epochs, epoch);
}
