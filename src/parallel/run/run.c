/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_mbuf.h>
#include <rte_ring.h>
#include <rte_ethdev.h>

#include "base/assertion.h"
#include "base/log.h"
#include "parallel/designs/digest_ring.h"
#include "parallel/workers/forward.h"
#include "parallel/shed/shed_options.h"
#include "parallel/workers/node_memory.h"
#include "parallel/designs/forward_off_path.h"
#include "parallel/designs/sync.h"
#include "rx/port/live_ports.h"
#include "rx/port/rss.h"
#include "rx/port/sending.h"

_Static_assert(PLAN_LCORES_MAX <= EPOCH_PARTICIPANTS_MAX, "every lcore can be a participant");

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

static int rx_core_lcore(void *arg)
{
	struct rx_core *rx_core = arg;

	if (rx_core->run->design->receive != NULL)
		rx_core->run->design->receive(rx_core);
	else
		poll_until_end(&rx_core->poller);
	/* Pairs with the acquire in run_finished(). */
	atomic_store_explicit(&rx_core->finished, true, memory_order_release);
	return 0;
}

/* Packets may arrive until the link is down, which takes at most this time. */
#define LINK_DOWN_MS 50

/* A packet socket may pass on frames for this time after port_silence(). */
#define SILENCED_MS 25

/* Threads can sleep until a packet arrives if all packets come through packet sockets. */
static bool may_block(const struct run *run)
{
	const struct plan *plan = run->plan;
	bool all = !plan->replay && plan->nb_ports > 0 && plan->idle == IDLE_SLEEP;

	for (uint32_t p = 0; all && p < plan->nb_ports; p++)
		all = run->ports[p].sockets != NULL;
	return all;
}

/* It would delay packets with --forward, and fill up queues with --overload. */
static bool may_collect_frames(const struct run *run)
{
	return run->plan->forward == FORWARD_OFF && !shed_policy_given(run->config);
}

static bool init_wait(const struct run *run, struct poller *poller)
{
	uint32_t slots = UINT32_MAX;

	poller->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (poller->bell < 0)
		return false;
	for (uint32_t q = 0; q < poller->nb_queues; q++)
		for (uint32_t p = 0; p < run->plan->nb_ports; p++)
			if (run->ports[p].id == poller->queues[q].port) {
				poller->fds[poller->nb_fds++] = socket_queues_fd(
					run->ports[p].sockets, poller->queues[q].queue);
				slots = RTE_MIN(slots, run->ports[p].slots);
			}
	if (may_collect_frames(run))
		poller->nap_ns = poll_nap_ns(slots);
	return true;
}

static void close_bell(const struct poller *poller)
{
	if (poller->nb_fds > 0)
		close(poller->bell);
}

static bool init_poller(
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
		if (!plan->replay && run->ports[p].sockets != NULL)
			poller->quiet_ms = RTE_MAX(poller->quiet_ms, (uint32_t)SILENCED_MS);
	}
	return !run->blocks || init_wait(run, poller);
}

static void init_reader(struct run *run, struct reader *reader)
{
	reader->replay = run->plan->replay;
	for (uint32_t p = 0; p < run->nb_ports; p++) {
		reader->in_ports[run->ports[p].id] = (uint16_t)p;
		port_clock_tell(&run->ports[p].clock, &reader->times);
	}
}

static bool create_forward(
	const struct run *run, const struct poller *poller, int node, struct forward **forward)
{
	if (run->plan->forward == FORWARD_OFF)
		return true;
	*forward = forward_create(run->plan, run->ports, poller, node);
	return *forward != NULL;
}

_Static_assert(PLAN_DIGEST_UNIT == DIGEST_UNIT && DIGEST_UNITS_MAX == 3, "the plan counts digests");

static bool create_digest_ring(struct worker *worker, const struct plan *plan, int node)
{
	uint32_t size = (uint32_t)(plan_digest_ring_bytes(plan->digest_ring) / DIGEST_UNIT);

	worker->digests = node_memory_get(node, sizeof(*worker->digests));
	if (worker->digests == NULL)
		return false;
	worker->digests->size = size;
	worker->digests->units =
		node_memory_get(node, DIGEST_RING_UNITS(size) * sizeof(worker->digests->units[0]));
	return worker->digests->units != NULL;
}

static void destroy_digest_ring(struct digest_ring *ring)
{
	if (ring == NULL)
		return;
	node_memory_give_back(ring->units, DIGEST_RING_UNITS(ring->size) * sizeof(ring->units[0]));
	node_memory_give_back(ring, sizeof(*ring));
}

static struct rte_ring *create_worker_ring(const struct plan *plan, uint32_t worker, int node)
{
	static unsigned int serial; /* makes ring names unique in the process */
	char name[RTE_RING_NAMESIZE];

	snprintf(name, sizeof(name), "worker%u_%u", worker, serial++);
	return rte_ring_create(
		name, plan->ring_size, pool_node(node), RING_F_SP_ENQ | RING_F_SC_DEQ);
}

bool run_waits(const struct run *run)
{
	return run->feeder != NULL && feeder_options(run->config)->pace == PACE_UNPACED;
}

bool run_sheds_load(const struct run *run)
{
	return shed_policy_options(run->config)->policy != SHED_POLICY_OFF && !run_waits(run);
}

static uint32_t entries_of(const struct run *run, uint16_t port)
{
	for (uint32_t p = 0; p < run->nb_ports; p++)
		if (run->ports[p].id == port)
			return run->plan->ports[p].entries;
	return 0;
}

static void start_queue_shedding(
	const struct run *run, struct worker *worker, struct shed_worker *shed)
{
	struct poller *poller = &worker->poller;

	shed_worker_govern(shed, &worker->states, rte_get_tsc_hz() / 1000);
	if (worker->digests != NULL || run->ops->create != NULL) {
		queue_shedding_init(&shed->shedding, 1); /* worker_look() */
		return;
	}
	poller->shed = shed;
	if (worker->ring != NULL) {
		poller->burst = BURST_MAX;
		queue_shedding_init(&shed->shedding, 1);
		poll_queue_fill(
			&poller->queues[0], rte_ring_get_capacity(worker->ring), worker->ring);
		return;
	}
	queue_shedding_init(&shed->shedding, poller->nb_queues);
	for (uint32_t q = 0; q < poller->nb_queues; q++) {
		struct poll_queue *queue = &poller->queues[q];
		struct rte_ring *ring =
			run->feeder != NULL ? feeder_ring(run->feeder, queue->queue) : NULL;

		poll_queue_fill(queue,
			ring != NULL ? rte_ring_get_capacity(ring) : entries_of(run, queue->port),
			ring);
	}
}

static bool create_shed_worker(const struct run *run, struct worker *worker, int node)
{
	struct shed_worker *shed;

	if (!shed_policy_given(run->config))
		return true;
	shed = node_memory_get(node, sizeof(*shed));
	if (shed == NULL)
		return false;
	worker->shed = shed;
	shed_worker_init(shed, run->hash_key.seed, worker->id);
	if (run_sheds_load(run))
		start_queue_shedding(run, worker, shed);
	return true;
}

static bool create_worker(struct run *run, const struct plan_lcore *lcore)
{
	const struct plan *plan = run->plan;
	struct worker *worker = node_memory_get(lcore->node, sizeof(*worker));
	uint32_t id = lcore->worker;

	if (worker == NULL)
		return false;
	run->workers[run->nb_workers++] = worker;
	worker->id = id;
	worker->group = lcore->group;
	worker->part = id - worker_group(run, worker)->first_worker;
	worker->run = run;
	worker->idle = plan->idle;
	worker->blocks = run->blocks;
	worker->wait_ms = poll_wait_ms(epoch_options(run->config)->interval);
	worker->done = run->design->done;
	worker->epochs = run->epochs;
	init_reader(run, &worker->reader);
	if (!run->design->rx_core) {
		if (!init_poller(run, &worker->poller, lcore->group, worker->part, BURST_MAX))
			return false;
		if (!create_forward(run, &worker->poller, lcore->node, &worker->forward))
			return false;
	}
	for (uint32_t g = 0; g < 2; g++)
		parse_counts_reset(&worker->generations[g].counts);
	worker->slot = node_memory_get(lcore->node, sizeof(*worker->slot));
	if (plan->ring_size > 0)
		worker->ring = create_worker_ring(plan, id, lcore->node);
	if (plan->digest_ring > 0 && !create_digest_ring(worker, plan, lcore->node))
		return false;
	return worker->slot != NULL && (plan->ring_size == 0 || worker->ring != NULL) &&
	       create_shed_worker(run, worker, lcore->node);
}

static bool create_off_path(struct run *run, struct rx_core *rx_core, int node)
{
	for (uint64_t epoch = 0; epoch < 2; epoch++)
		parse_counts_reset(&rx_core_generation(rx_core, epoch)->counts);
	if (run->plan->digest_ring == 0)
		return true;
	rx_core->off_path = node_memory_get(node, sizeof(*rx_core->off_path));
	if (rx_core->off_path == NULL)
		return false;
	init_reader(run, &rx_core->off_path->reader);
	return true;
}

static bool create_rx_core(struct run *run, const struct plan_lcore *lcore)
{
	const struct plan *plan = run->plan;
	const struct plan_group *group = &plan->groups[lcore->group];
	struct rx_core *rx_core = node_memory_get(lcore->node, sizeof(*rx_core));
	uint32_t held = run->design->held, burst = BURST_MAX * group->nb_workers;

	if (rx_core == NULL)
		return false;
	rx_core->run = run;
	rx_core->participant = plan->nb_workers + run->nb_rx_cores;
	rx_core->nb_workers = group->nb_workers;
	rx_core->workers = run->workers + group->first_worker;
	run->rx_cores[run->nb_rx_cores++] = rx_core;
	rx_core->may_drop = !run_waits(run);
	rx_core->dispatch = async_options(run->config)->dispatch;
	rx_core->hashed = rss_mask_of(rss_options(run->config)->fields);
	for (uint32_t i = 0; i < RSS_RETA_SIZE; i++)
		rx_core->reta[i] = (uint8_t)(i % group->nb_workers);
	if (!init_poller(run, &rx_core->poller, lcore->group, 0,
		    held == 0 ? BURST_MAX : RTE_MIN(burst, held)) ||
		!create_forward(run, &rx_core->poller, lcore->node, &rx_core->forward) ||
		!create_off_path(run, rx_core, lcore->node))
		return false;
	run->design->connect(rx_core);
	rx_core->groups =
		node_memory_get(lcore->node, group->nb_workers * sizeof(rx_core->groups[0]));
	return rx_core->groups != NULL;
}

static bool set_worker_error(const struct run *run, char *error)
{
	snprintf(error, RUN_ERROR_MAX,
		"out of memory for workers: their sketches take %zu MB; lower --width, --memory or "
		"--workers",
		run->plan->sketch_bytes >> 20);
	return false;
}

static bool create_lcores(struct run *run, char *error)
{
	for (uint32_t i = 0; i < run->plan->nb_lcores; i++) {
		const struct plan_lcore *lcore = &run->plan->lcores[i];
		bool created = true;

		if (lcore->role == PLAN_WORKER)
			created = create_worker(run, lcore);
		else if (lcore->role == PLAN_RECEIVER)
			created = create_rx_core(run, lcore);
		if (!created)
			return set_worker_error(run, error);
	}
	return true;
}

/* No worker may be using the generation of `epoch`. */
static void give_measurements(struct run *run, uint64_t epoch)
{
	for (uint32_t w = 0; w < run->nb_workers; w++)
		measurements_give(run_measurements(run, epoch),
			worker_generation(run->workers[w], epoch), w, epoch);
}

static void warn_misplaced(const struct plan *plan)
{
	for (uint32_t n = 0; n < plan->nb_nodes; n++) {
		int node = plan->nodes[n].node;
		struct memory_tally tally = node_memory_take_tally(node);

		if (node_memory_is_misplaced(&tally))
			log_warning(
				"NUMA node %d: %llu of %llu checked pages for this node are on "
				"other nodes, such as node %d: packets and sketches cross between "
				"nodes",
				node, (unsigned long long)tally.elsewhere,
				(unsigned long long)tally.pages, tally.where);
	}
}

void run_say_warnings(const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->nb_warnings; i++)
		log_warning("%s", plan->warnings[i]);
}

struct measurements *run_prepare(const struct run *run, const struct plan *plan)
{
	struct measurements *measurements = measurements_create(
		plan, &run->hash_key, run_waits(run), shed_policy_given(run->config));

	if (measurements != NULL)
		warn_misplaced(plan);
	return measurements;
}

static bool create_measurements(struct run *run, char *error)
{
	struct measurements *first = run_prepare(run, run->plan);

	if (first == NULL)
		return set_worker_error(run, error);
	for (uint64_t epoch = 0; epoch < 2; epoch++) {
		run->measurements[epoch] = first;
		give_measurements(run, epoch);
	}
	run->next = first;
	return true;
}

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
			"out of memory for %u mbufs of %u bytes on NUMA node %d: %s: they take %zu MB; "
			"lower mbufs or descriptors%s",
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

		run->ports[p].dealt = plan->design->hashes &&
				      async_options(run->config)->dispatch == DISPATCH_FLOW;
		run->ports[p].headers_only = plan->forward == FORWARD_OFF &&
					     filter_options(run->config)->expression == NULL;
		run->ports[p].in_blocks = may_collect_frames(run);
		run->ports[p].send_queues = (uint16_t)plan->ports[p].send_queues;
		if (plan->forward != FORWARD_OFF)
			run->ports[p].sends_chains =
				port_chains(&run->ports[plan->ports[p].out], plan->mbuf_room);
		if (!port_start(&run->ports[p], (uint16_t)plan->groups[group].nb_queues,
			    plan->ports[p].descriptors, run->pools[group], error))
			return false;
		if (plan->forward != FORWARD_OFF)
			port_sending_start(&run->ports[p]);
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
		.pace = feeder_options(config)->pace,
		.pace_rate = feeder_options(config)->pace_rate,
		.lossless = source_is(config, SOURCE_RECORDS),
		.interval = epoch_options(config)->interval,
		.packets = feeder_options(config)->packets,
		.duration = feeder_options(config)->duration,
		.idle = plan->idle,
	};

	source->written = &run->epochs->written;
	run->feeder = feeder_create(&params, error);
	/* The collector needs whole datagrams, not only headers. */
	if (run->feeder != NULL && source_is(config, SOURCE_RECORDS))
		feeder_set_reach(run->feeder, UINT32_MAX);
	return run->feeder != NULL;
}

static bool create_input(struct run *run, struct source *source, char *error)
{
	if (run->plan->replay)
		return create_feeder(run, source, error);
	return run->plan->nb_ports == 0 || start_ports(run, error);
}

static bool create_source(struct run *run, char *error)
{
	_Static_assert(SOURCE_ERROR_MAX <= RUN_ERROR_MAX, "each line fits in `error`");
	VERIFY(run->ops->create != NULL, ==, run->plan->source.design != NULL);
	if (run->ops->create == NULL)
		return true;
	run->source = run->ops->create(
		&(struct source_params){
			.config = run->config,
			.plan = run->plan,
			.workers = run->workers,
			.nb_workers = run->nb_workers,
			.rx_core = run->nb_rx_cores > 0 ? run->rx_cores[0] : NULL,
		},
		error);
	return run->source != NULL;
}

bool run_decide(struct run *run, bool *mistake, char *error)
{
	const char *path = shed_policy_options(run->config)->schedule;
	const char *names[CONFIG_MEASUREMENTS_MAX];
	struct shed_schedule_plan plan = {
		.nb_workers = run->plan->nb_workers,
		.nb_measurements = run->plan->nb_measurements,
		.names = names,
		.steps = run->steps,
	};

	_Static_assert(SHED_SCHEDULE_ERROR_MAX <= RUN_ERROR_MAX, "each line fits in `error`");
	if (path == NULL)
		return true;
	for (uint32_t m = 0; m < run->plan->nb_measurements; m++) {
		const struct measurement_config *measurement = run->plan->measurements[m].config;
		char why[STEPS_WHY_MAX];

		names[m] = measurement->name;
		plan.deep |=
			(uint32_t)(run->plan->measurements[m].params.deep.deepest != FLOW_COUNT)
			<< m;
		steps_parse(&run->steps[m], steps_options(measurement)->steps, why);
	}
	run->decisions = shed_schedule_read(path, &plan, mistake, error);
	for (uint32_t w = 0; run->decisions != NULL && w < run->nb_workers; w++)
		shed_worker_decide(run->workers[w]->shed, run->decisions, run->steps, w);
	return run->decisions != NULL;
}

struct run *run_create(const struct config *config, const struct plan *plan, struct source *source,
	struct port *ports, uint32_t nb_ports, char *error)
{
	const struct source_ops *ops = source_of(config)->ops;
	struct run *run = calloc(1, sizeof(*run));

	if (run != NULL)
		run->epochs = aligned_alloc(alignof(struct epochs), sizeof(*run->epochs));
	if (run == NULL || run->epochs == NULL) {
		snprintf(error, RUN_ERROR_MAX, "out of memory for the run");
		free(run);
		return NULL;
	}
	run->config = config;
	run->ops = ops != NULL ? ops : &source_no_ops;
	run->plan = plan;
	run->ports = ports;
	run->nb_ports = nb_ports;
	run->design = plan->design;
	run->blocks = may_block(run);
	epochs_init(run->epochs, plan->nb_workers + (plan->design->rx_core ? plan->nb_groups : 0));
	hash_key_init(&run->hash_key, seed_options(config)->seed);
	if (create_input(run, source, error) && create_lcores(run, error) &&
		create_measurements(run, error) && create_source(run, error))
		return run;
	run_destroy(run);
	return NULL;
}

static void log_interpreted(const struct filter *filter)
{
	if (filter_interpreted(filter) > 0)
		log_notice("--filter: cannot compile the expression to native code: it is "
			   "interpreted, which is slower");
}

bool run_filter(struct run *run, const struct filter_set *set)
{
	if (set->n == 0)
		return true;
	/* A source with its own filter filters frames without a struct packet_meta. */
	run->filter = filter_create(set, run->plan->replay && run->ops->set_filter == NULL);
	if (run->filter == NULL)
		return false;
	log_interpreted(run->filter);
	if (run->ops->set_filter != NULL) {
		run->ops->set_filter(run->source, run->filter);
		return true;
	}
	for (uint32_t w = 0; w < run->nb_workers; w++)
		run->workers[w]->reader.filter = run->filter;
	for (uint32_t r = 0; r < run->nb_rx_cores; r++)
		if (run->rx_cores[r]->off_path != NULL)
			run->rx_cores[r]->off_path->reader.filter = run->filter;
	if (run->feeder != NULL)
		feeder_set_reach(run->feeder, set->reach);
	return true;
}

/* No worker may be using the generation of `epoch`. */
static void give_table(struct run *run, uint64_t epoch)
{
	struct prefix_filter *table = run->monitor.of[epoch & 1];

	for (uint32_t w = 0; table != NULL && w < run->nb_workers; w++) {
		struct generation *generation = worker_generation(run->workers[w], epoch);

		generation->monitor = table;
		generation->rules = prefix_filter_counts(table, epoch, w);
	}
}

bool run_monitor(struct run *run, struct prefix_list *rules, char *error)
{
	_Static_assert(PREFIX_ERROR_MAX <= RUN_ERROR_MAX, "each line fits in `error`");

	if (rules != NULL && !prefix_reload_start(&run->monitor, prefix_options(run->config)->file,
				     prefix_options(run->config)->side, rules, run->nb_workers,
				     run->ops, run->source)) {
		memcpy(error, run->monitor.error, PREFIX_ERROR_MAX);
		return false;
	}
	give_table(run, 0);
	give_table(run, 1);
	if (run->ops->start != NULL)
		run->ops->start(run->source);
	return true;
}

static bool must_guess(const struct run *run, uint16_t port)
{
	for (uint32_t w = 0; w < run->nb_workers; w++) {
		const struct poller *poller = &run->workers[w]->poller;

		for (uint32_t q = 0; q < poller->nb_queues; q++)
			if (poller->queues[q].port == port &&
				poller->queues[q].fill == QUEUE_FILL_POLLS)
				return true;
	}
	return false;
}

void run_log_overload(const struct run *run)
{
	if (shed_policy_options(run->config)->policy == SHED_POLICY_OFF)
		return;
	if (!run_sheds_load(run))
		log_notice(
			"--overload has no effect: a replay without --pace waits for the workers");
	for (uint32_t p = 0; p < run->nb_ports; p++)
		if (must_guess(run, run->ports[p].id))
			log_warning(
				"%s: its driver does not report how full a queue is: --overload "
				"estimates this from full polls, and may react too late",
				run->ports[p].name);
}

void run_start(struct run *run)
{
	uint32_t feeder_lcore = 0;

	for (uint32_t i = 0; i < run->plan->nb_lcores; i++) {
		const struct plan_lcore *lcore = &run->plan->lcores[i];

		if (lcore->role == PLAN_WORKER)
			rte_eal_remote_launch(worker_lcore, run->workers[lcore->worker], i);
		else if (lcore->role == PLAN_RECEIVER)
			rte_eal_remote_launch(rx_core_lcore, run->rx_cores[lcore->group], i);
		else if (lcore->role == PLAN_FEEDER)
			feeder_lcore = i;
	}
	if (run->feeder != NULL)
		rte_eal_remote_launch(feeder_work, run->feeder, feeder_lcore);
}

void run_wake(struct run *run)
{
	for (uint32_t w = 0; w < run->nb_workers; w++) {
		worker_wake(run->workers[w]);
		poll_wake(&run->workers[w]->poller);
	}
	for (uint32_t r = 0; r < run->nb_rx_cores; r++)
		poll_wake(&run->rx_cores[r]->poller);
}

void run_stop(struct run *run)
{
	if (run->feeder != NULL)
		feeder_stop(run->feeder);
	for (uint32_t p = 0; p < run->nb_ports; p++)
		port_silence(&run->ports[p]);
	if (run->ops->stop != NULL)
		run->ops->stop(run->source);
}

bool run_finished(const struct run *run)
{
	for (uint32_t w = 0; w < run->nb_workers; w++)
		/* Pairs with the release in worker_lcore(). */
		if (!atomic_load_explicit(&run->workers[w]->finished, memory_order_acquire))
			return false;
	for (uint32_t r = 0; r < run->nb_rx_cores; r++)
		/* Pairs with the release in rx_core_lcore(). */
		if (!atomic_load_explicit(&run->rx_cores[r]->finished, memory_order_acquire))
			return false;
	return run->feeder == NULL || feeder_finished(run->feeder);
}

void run_join(struct run *run)
{
	for (uint32_t i = 1; i < run->plan->nb_lcores; i++)
		rte_eal_wait_lcore(i);
}

static void destroy_worker(struct worker *worker)
{
	close_bell(&worker->poller);
	node_memory_give_back(worker->shed, sizeof(*worker->shed));
	node_memory_give_back(worker->slot, sizeof(*worker->slot));
	rte_ring_free(worker->ring);
	destroy_digest_ring(worker->digests);
	forward_destroy(worker->forward);
	node_memory_give_back(worker, sizeof(*worker));
}

/* A set becomes unused if no generation uses it or will use it. */
static void release_measurements(struct run *run, struct measurements *measurements)
{
	if (measurements == NULL || measurements == run->next ||
		measurements == run->measurements[0] || measurements == run->measurements[1])
		return;
	measurements->next = run->unused;
	run->unused = measurements;
}

void run_change(struct run *run, struct measurements *next)
{
	struct measurements *before = run->next;

	run->next = next;
	run->next_from = UINT64_MAX;
	release_measurements(run, before);
}

struct measurements *run_take_unused(struct run *run)
{
	struct measurements *unused = run->unused;

	run->unused = NULL;
	return unused;
}

static void destroy_measurements(struct run *run)
{
	for (uint32_t g = 0; g < 2; g++) {
		struct measurements *measurements = run->measurements[g];

		run->measurements[g] = NULL;
		release_measurements(run, measurements);
	}
	run_change(run, NULL);
	while (run->unused != NULL) {
		struct measurements *measurements = run->unused;

		run->unused = measurements->next;
		measurements_destroy(measurements);
	}
}

void run_destroy(struct run *run)
{
	for (uint32_t r = 0; r < run->nb_rx_cores; r++) {
		struct rx_core *rx_core = run->rx_cores[r];

		forward_destroy(rx_core->forward);
		node_memory_give_back(rx_core->off_path, sizeof(*rx_core->off_path));
		node_memory_give_back(
			rx_core->groups, rx_core->nb_workers * sizeof(rx_core->groups[0]));
		close_bell(&rx_core->poller);
		node_memory_give_back(rx_core, sizeof(*rx_core));
	}
	for (uint32_t w = 0; w < run->nb_workers; w++)
		destroy_worker(run->workers[w]);
	destroy_measurements(run);
	if (run->feeder != NULL)
		feeder_destroy(run->feeder);
	filter_destroy(run->filter);
	prefix_reload_stop(&run->monitor);
	if (run->source != NULL)
		run->ops->destroy(run->source);
	shed_schedule_free(run->decisions);
	ports_close(run->ports, run->nb_ports);
	for (uint32_t g = 0; g < run->plan->nb_groups; g++)
		rte_mempool_free(run->pools[g]);
	free(run->epochs);
	free(run);
}

static void clear_rules(struct generation *generation)
{
	uint32_t n =
		generation->monitor != NULL ? prefix_filter_entries(generation->monitor)->n : 0;

	for (uint32_t r = 0; r < n; r++)
		if (generation->rules[r].packets > 0)
			generation->rules[r] = (struct prefix_counts){0};
}

/* Returns true if the worker has counted a packet in the epoch. */
static bool recycle_worker(struct worker *worker, uint64_t epoch)
{
	struct generation *generation = worker_generation(worker, epoch);
	bool used = generation->counted > 0;

	generation->received = generation->counted = 0;
	generation->filtered = generation->measured = generation->duplicate = 0;
	generation->ring_full = 0;
	generation->undecoded = (struct sketch_undecoded){0};
	generation->rx_cycles = generation->ppt_cycles = generation->free_cycles = 0;
	generation->costs = (struct costs){0};
	parse_counts_reset(&generation->counts);
	if (worker->shed != NULL)
		generation->kept = (struct shed_counts){0};
	if (generation->counting->drill_down)
		memset(generation->within.inside, 0, sizeof(generation->within.inside));
	forward_recycle(worker->forward, epoch);
	if (used)
		clear_rules(generation);
	for (uint32_t m = 0; used && m < generation->counting->nb_measurements; m++)
		hyperloglog_reset(generation->distinct[m]);
	return used;
}

static void begin_recycling(struct run *run, uint64_t epoch)
{
	run->recycling = (struct recycling){.begun = true};
	for (uint32_t w = 0; w < run->nb_workers; w++)
		run->recycling.used[plan_instance(run->plan, w)] |=
			recycle_worker(run->workers[w], epoch);
}

static void renew_measurements(struct run *run, uint64_t epoch)
{
	struct measurements **place = &run->measurements[epoch & 1], *before = *place;

	if (before == run->next)
		return;
	if (run->next_from == UINT64_MAX) {
		run->next_from = epoch + 2;
		measurements_follow(run->next, before);
	}
	*place = run->next;
	give_measurements(run, epoch);
	release_measurements(run, before);
}

/* Returns true if the sketch was replaced by one of another width. */
static bool renew_instance(struct run *run, uint64_t epoch, uint32_t instance, uint32_t m)
{
	struct measurements *measurements = run_measurements(run, epoch);

	if (!run->recycling.used[instance] || measurements != run->next ||
		!measurements_renew(
			measurements, epoch, instance, m, epochs_info(run->epochs, epoch)->end))
		return false;
	give_measurements(run, epoch);
	return true;
}

bool run_recycle(struct run *run, uint64_t epoch)
{
	struct recycling *recycling = &run->recycling;
	const struct plan *plan = &run_measurements(run, epoch)->plan;

	if (!recycling->begun)
		begin_recycling(run, epoch);
	while (recycling->renewed < plan->nb_instances * plan->nb_measurements) {
		uint32_t instance = recycling->renewed / plan->nb_measurements;
		uint32_t m = recycling->renewed++ % plan->nb_measurements;

		if (renew_instance(run, epoch, instance, m))
			return false;
	}
	recycling->begun = false;
	for (uint32_t r = 0; r < run->nb_rx_cores; r++)
		rx_core_recycle(run->rx_cores[r], epoch);
	if (run->ops->recycle != NULL)
		run->ops->recycle(run->source, epoch);
	renew_measurements(run, epoch);
	measurements_rekey(run_measurements(run, epoch), epoch);
	measurements_update_drill_down(run_measurements(run, epoch), epoch);
	prefix_reload_renew(&run->monitor, epoch);
	give_table(run, epoch);
	epochs_recycle(run->epochs, epoch);
	return true;
}

void devices_ask(const struct plan *plan, const struct port *ports, struct plan_device *devices)
{
	for (uint32_t p = 0; p < plan->nb_ports; p++) {
		struct rte_eth_dev_info info;
		uint16_t rx = ports[p].driver->descriptors, tx = PORT_SEND_DESCRIPTORS;

		if (rx == 0)
			rx = (uint16_t)plan->ports[p].descriptors;
		devices[p] = (struct plan_device){
			.entries = rx,
			.mbuf_room = port_mbuf_room(&ports[p], plan->mbuf_room),
		};
		devices[p].queues = (struct plan_queues){
			.max = ports[p].driver->queues_max,
			.power_of_two = ports[p].driver->queues_power_of_two,
		};
		if (rte_eth_dev_info_get(ports[p].id, &info) == 0)
			devices[p].queues_max =
				port_rss_queues(ports[p].driver, ports[p].config, &info);
		/* Fails if the driver has no limits. It then accepts any number. */
		if (rte_eth_dev_adjust_nb_rx_tx_desc(ports[p].id, &rx, &tx) == 0)
			devices[p].entries = rx;
		devices[p].send_entries = tx;
	}
}
