/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "base/log.h"
#include "parallel/memory.h"
#include "parallel/pool.h"
#include "parallel/sync.h"
#include "rx/port/live_ports.h"

_Static_assert(PLAN_LCORES_MAX <= EPOCH_PARTICIPANTS_MAX, "every lcore may take part");

static const struct plan_group *worker_group(const struct run *run, const struct worker *worker)
{
	return &run->plan->groups[worker->group];
}

static int worker_lcore(void *arg)
{
	struct worker *worker = arg;
	const struct run *run = worker->run;

	run->design->work(worker, worker_group(run, worker)->nb_workers);
	/* Pairs with the acquire in run_finished(). */
	atomic_store_explicit(&worker->finished, true, memory_order_release);
	return 0;
}

static int receiver_lcore(void *arg)
{
	struct receiver *receiver = arg;

	poll_until_end(&receiver->poller);
	/* Pairs with the acquire in run_finished(). */
	atomic_store_explicit(&receiver->finished, true, memory_order_release);
	return 0;
}

static void *alloc_on_node(int node, size_t size)
{
	struct sketch_allocator allocator = memory_on_node(node);

	return allocator.alloc(size, allocator.arg);
}

/* Which distinct key rules the measurements ask for; rule 0 is the 5-tuple that parsing gives. */
static void assign_rules(struct counting *counting, const struct plan *plan)
{
	counting->rules[0] = &key_rules[0];
	counting->nb_rules = 1;
	for (uint32_t m = 0; m < plan->nb_measurements; m++) {
		uint32_t r = 0;

		while (r < counting->nb_rules &&
			!key_rule_equal(counting->rules[r], &plan->measurements[m].config->key))
			r++;
		if (r == counting->nb_rules)
			counting->rules[counting->nb_rules++] = &plan->measurements[m].config->key;
		counting->rule_of[m] = r;
	}
}

static bool needs_details(const struct plan *plan)
{
	for (uint32_t m = 0; m < plan->nb_measurements; m++)
		if ((plan->measurements[m].ops->caps & SKETCH_DETAILS) != 0)
			return true;
	return false;
}

static bool needs_extra(const struct plan *plan)
{
	for (uint32_t m = 0; m < plan->nb_measurements; m++)
		if (plan->measurements[m].config->key.extra)
			return true;
	return false;
}

/* Nobody tells live sketches to look around when nothing comes but their worker. */
static bool needs_rest(const struct plan *plan)
{
	for (uint32_t m = 0; m < plan->nb_measurements; m++)
		if (plan->measurements[m].params.idle_timeout > 0)
			return !plan->replay;
	return false;
}

/* A worker waits for the reporter, who takes what a sketch gives out. */
static void wait_for_reporter(const void *arg)
{
	const struct plan *plan = arg;

	poll_idle(plan->idle);
}

/* The sketches of one instance, in both generations. */
static bool create_sketches(struct run *run, uint32_t instance, int node)
{
	for (uint32_t g = 0; g < 2; g++)
		for (uint32_t m = 0; m < run->plan->nb_measurements; m++) {
			const struct plan_measurement *measurement = &run->plan->measurements[m];
			struct sketch_params params = measurement->params;

			params.allocator = memory_on_node(node);
			if (run->feeder != NULL && run->config->pace == PACE_UNPACED) {
				params.wait = wait_for_reporter;
				params.wait_arg = run->plan;
			}
			run->sketches[g][instance][m] = measurement->ops->create(&params);
			if (run->sketches[g][instance][m] == NULL)
				return false;
			run->fitting[instance][m] = params.width;
		}
	return true;
}

static bool create_generations(struct run *run, struct worker *worker, int node)
{
	for (uint32_t g = 0; g < 2; g++) {
		struct generation *generation = &worker->generations[g];

		parse_counts_reset(&generation->counts);
		for (uint32_t m = 0; m < run->plan->nb_measurements; m++) {
			generation->sketch[m] =
				run->sketches[g][plan_instance(run->plan, worker->id)][m];
			generation->distinct[m] =
				alloc_on_node(node, sizeof(*generation->distinct[m]));
			if (generation->distinct[m] == NULL)
				return false;
		}
	}
	return true;
}

/* A link that was told to go down may still do so for this long. */
#define LINK_DOWN_MS 50

/* Polls queue `queue` of every port of a group. */
static void init_poller(
	struct run *run, struct poller *poller, uint32_t group, uint32_t queue, uint32_t burst)
{
	const struct plan *plan = run->plan;

	poller->epochs = run->epochs;
	poller->replay = plan->replay;
	poller->idle = plan->idle;
	poller->burst = burst;
	for (uint32_t p = 0; p < plan->nb_ports; p++) {
		if (plan->ports[p].group != group)
			continue;
		poller->queues[poller->nb_queues++] = (struct poll_queue){
			.port = plan->replay ? feeder_port(run->feeder) : run->ports[p].id,
			.queue = (uint16_t)queue,
		};
		if (!plan->replay && !run->ports[p].driver->polled)
			poller->quiet_ms = LINK_DOWN_MS;
	}
}

static struct rte_ring *create_worker_ring(const struct plan *plan, uint32_t worker, int node)
{
	static unsigned int instance; /* names are unique in the process */
	char name[RTE_RING_NAMESIZE];

	snprintf(name, sizeof(name), "worker%u_%u", worker, instance++);
	return rte_ring_create(
		name, plan->ring_size, pool_node(node), RING_F_SP_ENQ | RING_F_SC_DEQ);
}

static bool create_worker(struct run *run, const struct plan_lcore *lcore)
{
	const struct plan *plan = run->plan;
	struct worker *worker = alloc_on_node(lcore->node, sizeof(*worker));
	uint32_t id = lcore->worker;

	if (worker == NULL)
		return false;
	run->workers[run->nb_workers++] = worker;
	worker->id = id;
	worker->group = lcore->group;
	worker->part = id - worker_group(run, worker)->first_worker;
	worker->run = run;
	worker->replay = plan->replay;
	worker->idle = plan->idle;
	worker->done = run->design->done;
	worker->epochs = run->epochs;
	worker->counting.hash_key = &run->hash_key;
	worker->counting.nb_measurements = plan->nb_measurements;
	for (uint32_t m = 0; m < plan->nb_measurements; m++) {
		worker->ops[m] = plan->measurements[m].ops;
		worker->counting.update[m] = worker->ops[m]->update[plan->sharing];
	}
	worker->counting.details = needs_details(plan);
	worker->extra = needs_extra(plan);
	for (uint32_t p = 0; p < run->nb_ports; p++)
		worker->in_ports[run->ports[p].id] = (uint16_t)p;
	for (uint32_t p = 0; p < run->nb_ports; p++)
		port_clock_tell(&run->ports[p].clock, &worker->times);
	worker->rests = needs_rest(plan);
	assign_rules(&worker->counting, plan);
	if (!run->design->receiver)
		init_poller(run, &worker->poller, lcore->group, worker->part, BURST_MAX);
	worker->counting.bursts = alloc_on_node(
		lcore->node, worker->counting.nb_rules * sizeof(worker->counting.bursts[0]));
	for (uint32_t r = 0; worker->counting.bursts != NULL && r < worker->counting.nb_rules; r++)
		worker->counting.bursts[r].writer = id;
	worker->slot = alloc_on_node(lcore->node, sizeof(*worker->slot));
	if (plan->ring_size > 0)
		worker->ring = create_worker_ring(plan, id, lcore->node);
	if (worker->counting.bursts == NULL || worker->slot == NULL ||
		(plan->ring_size > 0 && worker->ring == NULL))
		return false;
	/* A shared instance lies on the node of the first worker. */
	if (plan_instance(plan, id) == id && !create_sketches(run, id, lcore->node))
		return false;
	return create_generations(run, worker, lcore->node);
}

static bool create_receiver(struct run *run, const struct plan_lcore *lcore)
{
	const struct plan *plan = run->plan;
	const struct plan_group *group = &plan->groups[lcore->group];
	struct receiver *receiver = alloc_on_node(lcore->node, sizeof(*receiver));
	uint32_t held = run->design->held, burst = BURST_MAX * group->nb_workers;

	if (receiver == NULL)
		return false;
	receiver->run = run;
	receiver->participant = plan->nb_workers + run->nb_receivers;
	receiver->nb_workers = group->nb_workers;
	receiver->workers = run->workers + group->first_worker;
	run->receivers[run->nb_receivers++] = receiver;
	receiver->may_drop = !plan->replay || run->config->pace != PACE_UNPACED;
	receiver->dispatch = run->config->dispatch;
	receiver->hashed = rss_mask_of(run->config->rss_fields);
	for (uint32_t i = 0; i < RSS_RETA_SIZE; i++)
		receiver->reta[i] = (uint8_t)(i % group->nb_workers);
	init_poller(run, &receiver->poller, lcore->group, 0,
		held == 0 ? BURST_MAX : RTE_MIN(burst, held));
	run->design->connect(receiver);
	receiver->groups =
		alloc_on_node(lcore->node, group->nb_workers * sizeof(receiver->groups[0]));
	return receiver->groups != NULL;
}

static bool create_lcores(struct run *run, char *error)
{
	for (uint32_t i = 0; i < run->plan->nb_lcores; i++) {
		const struct plan_lcore *lcore = &run->plan->lcores[i];
		bool created = true;

		if (lcore->role == PLAN_WORKER)
			created = create_worker(run, lcore);
		else if (lcore->role == PLAN_RECEIVER)
			created = create_receiver(run, lcore);
		if (!created) {
			snprintf(error, RUN_ERROR_MAX,
				"no memory for the workers, whose sketches take %zu MB in all: "
				"lower --width, --memory or --workers",
				run->plan->sketch_bytes >> 20);
			return false;
		}
	}
	return true;
}

/* One pool for the ports of each node, on that node. */
static bool create_pools(struct run *run, char *error)
{
	const struct plan *plan = run->plan;

	for (uint32_t g = 0; g < plan->nb_groups; g++) {
		const struct plan_group *group = &plan->groups[g];
		char name[RTE_MEMPOOL_NAMESIZE];

		snprintf(name, sizeof(name), "ports%u", g);
		run->pools[g] = pool_create(
			name, group->mbufs, plan->mbuf_cache, plan->mbuf_room, group->memory_node);
		if (run->pools[g] != NULL)
			continue;
		snprintf(error, RUN_ERROR_MAX,
			"no memory for %u mbufs of %u bytes on NUMA node %d: %s; they take %zu MB: "
			"lower --mbufs or --descriptors%s",
			group->mbufs, plan->mbuf_room, group->memory_node, rte_strerror(rte_errno),
			group->packet_bytes >> 20,
			plan->hugepages ? ", reserve hugepages on the node, or use --no-huge" : "");
		return false;
	}
	return true;
}

static bool start_ports(struct run *run, char *error)
{
	const struct plan *plan = run->plan;

	if (!create_pools(run, error))
		return false;
	for (uint32_t p = 0; p < run->nb_ports; p++) {
		uint32_t group = plan->ports[p].group;

		run->ports[p].dealt =
			plan->design->hashes && run->config->dispatch == DISPATCH_FLOW;
		if (!port_start(&run->ports[p], (uint16_t)plan->groups[group].nb_queues,
			    plan->ports[p].descriptors, run->pools[group], error))
			return false;
		live_ports_say(&run->ports[p]);
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
		.nb_queues = plan->groups[0].nb_queues,
		.descriptors = plan->ports[0].descriptors,
		.mbufs = plan->groups[0].mbufs,
		.mbuf_cache = plan->mbuf_cache,
		.mbuf_room = plan->mbuf_room,
		.node = plan->groups[0].memory_node,
		.pace = config->pace,
		.pace_rate = config->pace_rate,
		.interval = config->interval,
		.packets = config->packets,
		.duration = config->duration,
		.idle = plan->idle,
	};

	run->feeder = feeder_create(&params, error);
	return run->feeder != NULL;
}

/* What was to lie on a node and does not. */
static void warn_misplaced(const struct run *run)
{
	for (uint32_t n = 0; n < run->plan->nb_nodes; n++) {
		int node = run->plan->nodes[n].node;
		struct memory_tally tally = memory_take_tally(node);

		if (memory_is_misplaced(&tally))
			log_warning(
				"of %llu pages looked up that were planned on NUMA node %d, %llu "
				"lie elsewhere, such as on node %d: packets and sketches cross "
				"between nodes",
				(unsigned long long)tally.pages, node,
				(unsigned long long)tally.elsewhere, tally.where);
	}
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
	run->design = plan->design;
	epochs_init(run->epochs, plan->nb_workers + (plan->design->receiver ? plan->nb_groups : 0));
	hash_key_init(&run->hash_key, config->seed);
	if ((plan->replay ? create_feeder(run, source, error) : start_ports(run, error)) &&
		create_lcores(run, error)) {
		warn_misplaced(run);
		return run;
	}
	run_destroy(run);
	return NULL;
}

static void say_interpreted(const struct filter *filter)
{
	if (filter_interpreted(filter) > 0)
		log_notice("--filter: this expression is interpreted, which costs more time per "
			   "packet: no native code could be made of it here");
}

bool run_filter(struct run *run, const struct filter_set *set)
{
	if (set->n == 0)
		return true;
	run->filter = filter_create(set, run->plan->replay);
	if (run->filter == NULL)
		return false;
	say_interpreted(run->filter);
	for (uint32_t w = 0; w < run->nb_workers; w++)
		run->workers[w]->filter = run->filter;
	if (run->feeder != NULL)
		feeder_set_reach(run->feeder, set->reach);
	return true;
}

/* A generation that belongs to nobody gets the table that is its. */
static void give_table(struct run *run, uint64_t epoch)
{
	struct monitor_table *table = run->monitoring.of[epoch & 1];

	for (uint32_t w = 0; table != NULL && w < run->nb_workers; w++) {
		struct generation *generation = worker_generation(run->workers[w], epoch);

		generation->monitor = table;
		generation->rules = monitor_table_counts(table, epoch, w);
	}
}

bool run_monitor(struct run *run, struct monitor_rules *rules, char *error)
{
	_Static_assert(MONITOR_ERROR_MAX <= RUN_ERROR_MAX, "the line fits");

	if (rules == NULL)
		return true;
	if (!monitoring_start(&run->monitoring, run->config->monitor, run->config->monitor_side,
		    rules, run->nb_workers)) {
		memcpy(error, run->monitoring.error, MONITOR_ERROR_MAX);
		return false;
	}
	give_table(run, 0);
	give_table(run, 1);
	return true;
}

void run_start(struct run *run)
{
	uint32_t feeder_lcore = 0;

	for (uint32_t i = 0; i < run->plan->nb_lcores; i++) {
		const struct plan_lcore *lcore = &run->plan->lcores[i];

		if (lcore->role == PLAN_WORKER)
			rte_eal_remote_launch(worker_lcore, run->workers[lcore->worker], i);
		else if (lcore->role == PLAN_RECEIVER)
			rte_eal_remote_launch(receiver_lcore, run->receivers[lcore->group], i);
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
	for (uint32_t r = 0; r < run->nb_receivers; r++)
		/* Pairs with the release in receiver_lcore(). */
		if (!atomic_load_explicit(&run->receivers[r]->finished, memory_order_acquire))
			return false;
	return run->feeder == NULL || feeder_finished(run->feeder);
}

void run_join(struct run *run)
{
	for (uint32_t i = 1; i < run->plan->nb_lcores; i++)
		rte_eal_wait_lcore(i);
}

static void free_memory(void *memory, size_t size)
{
	struct sketch_allocator allocator = memory_on_node(PLAN_NODE_ANY);

	if (memory != NULL)
		allocator.free(memory, size, allocator.arg);
}

static void destroy_worker(struct worker *worker)
{
	for (uint32_t g = 0; g < 2; g++)
		for (uint32_t m = 0; m < worker->counting.nb_measurements; m++)
			free_memory(worker->generations[g].distinct[m], sizeof(struct hyperloglog));
	free_memory(worker->counting.bursts,
		worker->counting.nb_rules * sizeof(worker->counting.bursts[0]));
	free_memory(worker->slot, sizeof(*worker->slot));
	rte_ring_free(worker->ring);
	free_memory(worker, sizeof(*worker));
}

static void destroy_sketches(struct run *run)
{
	for (uint32_t g = 0; g < 2; g++)
		for (uint32_t i = 0; i < run->plan->nb_instances; i++)
			for (uint32_t m = 0; m < run->plan->nb_measurements; m++)
				if (run->sketches[g][i][m] != NULL)
					run->sketches[g][i][m]->ops->destroy(
						run->sketches[g][i][m]);
}

void run_destroy(struct run *run)
{
	for (uint32_t r = 0; r < run->nb_receivers; r++) {
		struct receiver *receiver = run->receivers[r];

		free_memory(receiver->groups, receiver->nb_workers * sizeof(receiver->groups[0]));
		free_memory(receiver, sizeof(*receiver));
	}
	for (uint32_t w = 0; w < run->nb_workers; w++)
		destroy_worker(run->workers[w]);
	destroy_sketches(run);
	if (run->feeder != NULL)
		feeder_destroy(run->feeder);
	filter_destroy(run->filter);
	monitoring_stop(&run->monitoring);
	ports_close(run->ports, run->nb_ports);
	for (uint32_t g = 0; g < run->plan->nb_groups; g++)
		rte_mempool_free(run->pools[g]);
	free(run->epochs);
	free(run);
}

static void clear_rules(struct generation *generation)
{
	uint32_t n = generation->monitor != NULL ? monitor_table_rules(generation->monitor)->n : 0;

	for (uint32_t r = 0; r < n; r++)
		if (generation->rules[r].packets > 0)
			generation->rules[r] = (struct monitor_count){0};
}

/* Returns whether the worker had counted anything. */
static bool recycle_worker(struct worker *worker, uint64_t epoch)
{
	struct generation *generation = worker_generation(worker, epoch);
	bool used = generation->counted > 0;

	generation->received = generation->counted = 0;
	generation->filtered = generation->measured = 0;
	generation->rx_cycles = generation->ppt_cycles = generation->free_cycles = 0;
	parse_counts_reset(&generation->counts);
	if (used)
		clear_rules(generation);
	for (uint32_t m = 0; used && m < worker->counting.nb_measurements; m++)
		hyperloglog_reset(generation->distinct[m]);
	return used;
}

/* Those who update the instance in this generation get the one that is there now. */
static void give_sketch(struct run *run, uint64_t epoch, uint32_t instance, uint32_t m)
{
	for (uint32_t w = 0; w < run->nb_workers; w++)
		if (plan_instance(run->plan, w) == instance)
			worker_generation(run->workers[w], epoch)->sketch[m] =
				run->sketches[epoch & 1][instance][m];
}

static void warn_if_narrow(
	struct run *run, uint64_t epoch, uint32_t instance, uint32_t m, uint64_t width)
{
	const struct sketch *sketch = run->sketches[epoch & 1][instance][m];

	if (!rarely_due(&run->narrow[m], epochs_info(run->epochs, epoch)->end, width))
		return;
	log_warning("%s, instance %u: no memory for rows of %llu cells after %llu",
		run->plan->measurements[m].config->name, instance, (unsigned long long)width,
		(unsigned long long)sketch->params.width);
}

/* Puts an empty instance of another width in the place of this one, if there is memory. */
static bool change_width(
	struct run *run, uint64_t epoch, uint32_t instance, uint32_t m, uint64_t width)
{
	struct sketch **place = &run->sketches[epoch & 1][instance][m], *old = *place;
	const char *name = run->plan->measurements[m].config->name;
	struct sketch_params params = old->params;
	struct sketch *next;

	params.width = width;
	next = old->ops->create(&params);
	if (next == NULL) {
		warn_if_narrow(run, epoch, instance, m, width);
		return false;
	}
	log_info("%s, instance %u: rows of %llu cells after %llu", name, instance,
		(unsigned long long)width, (unsigned long long)old->params.width);
	old->ops->destroy(old);
	*place = next;
	give_sketch(run, epoch, instance, m);
	return true;
}

/*
 * Its size is for the larger of the last two epochs: from one quiet one nothing follows. Returns
 * whether it is another one.
 */
static bool renew_sketch(struct run *run, uint64_t epoch, uint32_t instance, uint32_t m)
{
	struct sketch *sketch = run->sketches[epoch & 1][instance][m];
	uint64_t width = sketch->params.width;

	if (sketch->ops->fit != NULL) {
		uint64_t before = run->fitting[instance][m];

		run->fitting[instance][m] = sketch->ops->fit(sketch);
		width = run->fitting[instance][m] > before ? run->fitting[instance][m] : before;
	}
	if (width != sketch->params.width && change_width(run, epoch, instance, m, width))
		return true;
	sketch->ops->reset(sketch);
	return false;
}

static void begin_recycling(struct run *run, uint64_t epoch)
{
	run->recycling = (struct recycling){.begun = true};
	for (uint32_t w = 0; w < run->nb_workers; w++)
		run->recycling.used[plan_instance(run->plan, w)] |=
			recycle_worker(run->workers[w], epoch);
}

bool run_recycle(struct run *run, uint64_t epoch)
{
	struct recycling *recycling = &run->recycling;
	uint32_t nb_measurements = run->plan->nb_measurements;

	if (!recycling->begun)
		begin_recycling(run, epoch);
	while (recycling->renewed < run->plan->nb_instances * nb_measurements) {
		uint32_t instance = recycling->renewed / nb_measurements;
		uint32_t m = recycling->renewed++ % nb_measurements;

		if (recycling->used[instance] && renew_sketch(run, epoch, instance, m))
			return false;
	}
	recycling->begun = false;
	for (uint32_t r = 0; r < run->nb_receivers; r++)
		*receiver_generation(run->receivers[r], epoch) = (struct receiver_generation){0};
	monitoring_renew(&run->monitoring, epoch);
	give_table(run, epoch);
	epochs_recycle(run->epochs, epoch);
	return true;
}
