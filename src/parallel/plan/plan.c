/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/plan/plan.h"

#include <stdarg.h>
#include <string.h>

#include "base/assertion.h"
#include "parallel/plan/plan_internal.h"
#include <stdlib.h>
#include <sys/random.h>
#include "base/units.h"
#include "key/key_set.h"
#include "rx/generate/synthetic.h"
#include "rx/port/forwarding.h"
#include "rx/port/port_name.h"
#include "rx/port/port_send.h"
#include "rx/source.h"
#include "sketch/candidates.h"
#include "sketch/measurement.h"
#include "sketch/queries.h"

/* limit of librte_net_ring, which makes an ethdev of rings */
#define REPLAY_QUEUES_MAX 16

#define DESCRIPTORS_DEFAULT 1024
/* On a replay, mbufs hold only the parsed headers, which rarely need more bytes. */
#define REPLAY_MBUF_ROOM    256
#define HEADROOM            128
#define PORT_MBUF_ROOM      (PLAN_PORT_MBUF_BYTES + HEADROOM)
#define SENDER_MBUFS        4095
#define SENDER_MBUF_CACHE   256

void plan_warn(struct plan *plan, const char *format, ...)
{
	va_list args;

	if (plan->nb_warnings == PLAN_WARNINGS_MAX)
		return;
	va_start(args, format);
	vsnprintf(plan->warnings[plan->nb_warnings++], PLAN_TEXT_MAX, format, args);
	va_end(args);
}

bool plan_set_error(struct plan *plan, char *error, const char *format, ...)
{
	va_list args;

	plan->machine = true;
	va_start(args, format);
	vsnprintf(error, PLAN_TEXT_MAX, format, args);
	va_end(args);
	return false;
}

uint32_t plan_nb_polling(const struct plan *plan)
{
	return plan->nb_workers + (plan->replay ? 1 : 0) +
	       (plan->design->rx_core ? plan->nb_groups : 0);
}

static uint32_t group_of_node(struct plan *plan, int node)
{
	for (uint32_t g = 0; g < plan->nb_groups; g++)
		if (plan->groups[g].node == node)
			return g;
	plan->groups[plan->nb_groups] = (struct plan_group){.node = node};
	return plan->nb_groups++;
}

/* Makes one group per NUMA node. Ports of unknown nodes go to the first group. */
static void make_groups(struct plan *plan, const struct plan_ports *ports)
{
	plan->replay = ports->nb_ports == 0 && ports->source.inputs == 0;
	plan->nb_ports = plan->replay ? 1 : ports->nb_ports;
	if (plan->replay)
		plan->ports[0] = (struct plan_port){.name = "replay", .node = PLAN_NODE_ANY};
	for (uint32_t p = 0; p < ports->nb_ports; p++) {
		int node = ports->ports[p].node;

		plan->ports[p].name = ports->ports[p].name != NULL ? ports->ports[p].name : "port";
		plan->ports[p].node = node >= 0 && node < TOPOLOGY_NODES_MAX ? node : PLAN_NODE_ANY;
		if (plan->ports[p].node != PLAN_NODE_ANY)
			plan->ports[p].group = group_of_node(plan, node);
	}
	if (plan->nb_groups == 0)
		group_of_node(plan, PLAN_NODE_ANY);
	for (uint32_t p = 0; p < plan->nb_ports; p++)
		plan->groups[plan->ports[p].group].nb_ports++;
}

static void plan_forwarding(struct plan *plan)
{
	for (uint32_t p = 0; p < plan->nb_ports && plan->forward != FORWARD_OFF; p++) {
		plan->ports[p].out = forward_out(plan->forward, p);
		plan->ports[p].send_entries = PORT_SEND_DESCRIPTORS;
	}
}

static void number_send_queues(struct plan *plan)
{
	for (uint32_t p = 0; p < plan->nb_ports && plan->forward != FORWARD_OFF; p++) {
		const struct plan_port *in = &plan->ports[plan->ports[p].out];

		plan->ports[p].send_queues = plan->groups[in->group].nb_queues;
	}
}

/* Removes workers from the largest groups until `limit` are left. Each group keeps one. */
static void limit_workers(struct plan *plan, uint32_t limit)
{
	for (;;) {
		uint32_t sum = 0, largest = 0;

		for (uint32_t g = 0; g < plan->nb_groups; g++) {
			sum += plan->groups[g].nb_workers;
			if (plan->groups[g].nb_workers >= plan->groups[largest].nb_workers)
				largest = g;
		}
		if (sum <= limit || plan->groups[largest].nb_workers <= 1)
			return;
		plan->groups[largest].nb_workers--;
	}
}

static void choose_workers(struct plan *plan, const struct topology *topology)
{
	/* counts only feeder and receivers, because there are no workers yet */
	uint32_t helpers = plan_nb_polling(plan), cores;

	cores = plan_count_workers(plan, topology);
	limit_workers(plan, cores > helpers + 1 ? cores - helpers - 1 : 1);
	limit_workers(plan,
		plan->replay && !plan->design->rx_core ? REPLAY_QUEUES_MAX : PLAN_WORKERS_MAX);
	limit_workers(plan, PLAN_LCORES_MAX - 1 - helpers);
	if (topology->cpu_quota > 0)
		limit_workers(plan, topology->cpu_quota > helpers + 1
					    ? (uint32_t)(topology->cpu_quota - helpers)
					    : 1);
}

/* Returns the group with the fewest workers, preferably with fewer than room[], its free cores. */
static uint32_t next_group(const struct plan *plan, const uint32_t room[])
{
	uint32_t best = 0;

	for (uint32_t g = 1; g < plan->nb_groups; g++) {
		uint32_t workers = plan->groups[g].nb_workers;
		uint32_t fewest = plan->groups[best].nb_workers;
		bool has_room = workers < room[g], had_room = fewest < room[best];

		if (has_room == had_room ? workers < fewest : has_room)
			best = g;
	}
	return best;
}

static bool share_workers(
	struct plan *plan, const struct topology *topology, uint32_t workers, char *error)
{
	uint32_t room[PLAN_GROUPS_MAX];

	if (workers < plan->nb_groups)
		return plan_set_error(plan, error,
			"%u worker%s for ports on %u NUMA nodes: each node needs its own worker; "
			"give --workers %u or more, or run one sketchtap per node",
			workers, workers == 1 ? "" : "s", plan->nb_groups, plan->nb_groups);
	plan_count_workers(plan, topology);
	for (uint32_t g = 0; g < plan->nb_groups; g++) {
		room[g] = plan->groups[g].nb_workers;
		plan->groups[g].nb_workers = 1;
	}
	for (uint32_t w = plan->nb_groups; w < workers; w++)
		plan->groups[next_group(plan, room)].nb_workers++;
	return true;
}

static void number_workers(struct plan *plan)
{
	plan->nb_workers = 0;
	for (uint32_t g = 0; g < plan->nb_groups; g++) {
		struct plan_group *group = &plan->groups[g];

		group->first_worker = plan->nb_workers;
		group->nb_queues = !plan->design->rx_core ? group->nb_workers : 1;
		plan->nb_workers += group->nb_workers;
	}
	VERIFY(plan->nb_workers, <=, PLAN_WORKERS_MAX);
	plan->nb_instances = plan->sharing == SHARING_SHARED ? 1 : plan->nb_workers;
	number_send_queues(plan);
}

static void limit_queues(struct plan *plan, uint32_t p, uint32_t limit, const char *why)
{
	const struct plan_port *port = &plan->ports[p];
	struct plan_group *group = &plan->groups[port->group];

	if (group->nb_workers <= limit)
		return;
	plan_warn(plan, "%.*s: %s: %u worker%s instead of %u; --design async supports any number",
		(int)strcspn(port->name, ","), port->name, why, limit, limit == 1 ? "" : "s",
		group->nb_workers);
	group->nb_workers = limit;
}

/* Limits the queues of port p to a number that its driver supports, even with --workers. */
static void obey_driver(struct plan *plan, uint32_t p, const struct plan_queues *queues)
{
	uint32_t power = 1;
	char why[64];

	if (plan->design->rx_core || plan->replay)
		return;
	snprintf(why, sizeof(why), "its driver supports %u receive queue%s", queues->max,
		queues->max == 1 ? "" : "s");
	if (queues->max > 0)
		limit_queues(plan, p, queues->max, why);
	while (power * 2 <= plan->groups[plan->ports[p].group].nb_workers)
		power *= 2;
	if (queues->power_of_two)
		limit_queues(plan, p, power, "its driver supports 1, 2, 4, 8, ... receive queues");
}

static bool count_workers(struct plan *plan, const struct config *config,
	const struct topology *topology, const struct plan_ports *ports, char *error)
{
	if (ports->source.design != NULL)
		plan->groups[0].nb_workers = ports->source.workers;
	else if (plan_options(config)->workers == 0)
		choose_workers(plan, topology);
	else if (!share_workers(plan, topology, plan_options(config)->workers, error))
		return false;
	for (uint32_t p = 0; p < ports->nb_ports; p++)
		obey_driver(plan, p, &ports->ports[p].queues);
	number_workers(plan);
	if (plan->replay && plan->groups[0].nb_queues > REPLAY_QUEUES_MAX) {
		snprintf(error, PLAN_TEXT_MAX,
			"%u workers: a replay supports at most %u; lower --workers",
			plan->nb_workers, REPLAY_QUEUES_MAX);
		return false;
	}
	if (1 + plan_nb_polling(plan) > PLAN_LCORES_MAX)
		return plan_set_error(plan, error,
			"%u workers and a receiver on each of %u NUMA nodes are more than the %u "
			"lcores of DPDK: lower --workers",
			plan->nb_workers, plan->nb_groups, PLAN_LCORES_MAX);
	return true;
}

static void assign_roles(struct plan *plan)
{
	plan->nb_lcores = 0;
	plan->lcores[plan->nb_lcores++] = (struct plan_lcore){.role = PLAN_REPORTER};
	if (plan->replay)
		plan->lcores[plan->nb_lcores++] = (struct plan_lcore){.role = PLAN_FEEDER};
	for (uint32_t g = 0; plan->design->rx_core && g < plan->nb_groups; g++)
		plan->lcores[plan->nb_lcores++] =
			(struct plan_lcore){.role = PLAN_RECEIVER, .group = g};
	for (uint32_t g = 0; g < plan->nb_groups; g++)
		for (uint32_t w = 0; w < plan->groups[g].nb_workers; w++)
			plan->lcores[plan->nb_lcores++] = (struct plan_lcore){
				.role = PLAN_WORKER,
				.group = g,
				.worker = plan->groups[g].first_worker + w,
			};
}

/* Memory is planned for the largest width to which the sketch can grow. */
static void plan_growth(struct plan_measurement *m)
{
	uint64_t first = m->ops->first_width > 0 ? m->ops->first_width : m->ops->default_width;

	m->params.width_max = m->params.width;
	if (m->params.width > first)
		m->params.width = first;
	m->changes = true;
}

static bool plan_measurement(struct plan_measurement *m, const struct plan *plan,
	const struct config *run_config, const struct measurement_config *config, char *error)
{
	const char *why;
	const struct measurement_options *options = measurement_options(config);
	double wanted = options->top;

	m->config = config;
	m->ops = measurement_sketch(config);
	/* At most 1 / F keys exceed a share F of the traffic. */
	if (options->threshold > 0 && (wanted == 0 || 1 / options->threshold < wanted))
		wanted = 1 / options->threshold;
	m->params = measurement_params(config);
	m->params.ip_bytes = (m->ops->caps & SKETCH_RECORDS) != 0 &&
			     !source_is(run_config, SOURCE_KEYS) &&
			     (config_needs(run_config) & OPTION_NEED_IP_BYTES) != 0;
	/* Keys compete for the cells of a sketch, so it has room for 10 times the wanted keys. */
	m->params.candidates = 10 * wanted <= CANDIDATES_DEFAULT ? 0 : (uint32_t)(10 * wanted);
	m->params.seed = seed_options(run_config)->seed;
	m->params.atomic = plan_options(run_config)->atomic;
	m->params.writers = plan->sharing == SHARING_SHARED ? plan->nb_workers : 1;
	if (options->memory > 0) {
		m->params.width = sketch_width_for(m->ops, &m->params, options->memory);
		if (m->params.width == 0) {
			snprintf(error, PLAN_TEXT_MAX,
				"--memory %llu is too small for the smallest %s",
				(unsigned long long)options->memory, m->ops->name);
			return false;
		}
	}
	why = sketch_inapplicable(m->ops, &m->params, plan->sharing,
		/* Load shedding gives weights to the packets that it samples. */
		plan->source.weights || plan->policy.worker_bytes > 0);
	if (why != NULL) {
		snprintf(error, PLAN_TEXT_MAX, "measurement %s: %s %s", config->name, m->ops->name,
			why);
		return false;
	}
	why = m->ops->check(&m->params);
	if (why != NULL) {
		snprintf(error, PLAN_TEXT_MAX, "measurement %s: %s", config->name, why);
		return false;
	}
	m->instance_bytes = m->ops->memory(&m->params);
	if (m->ops->listing_memory != NULL)
		m->listing_bytes = m->ops->listing_memory(&m->params);
	m->drill_down_bytes = config_asks(run_config, config, "within") ? HEAVY_KEYS_BYTES : 0;
	m->merged = (m->ops->caps & SKETCH_EXACT) == 0;
	if (m->params.load > 0)
		plan_growth(m);
	return true;
}

/* A reload creates the new queries while the old ones are in use. */
static bool plan_queries(struct plan *plan, const struct config *config, char *error)
{
	struct queries *queries;

	plan->query_bytes = 0;
	if (!queries_given(config))
		return true;
	queries = queries_create(config);
	if (queries == NULL)
		return plan_set_error(plan, error, "out of memory for queries: remove some");
	plan->query_bytes = 2 * queries_bytes(queries);
	queries_destroy(queries);
	return true;
}

static bool plan_measurements(struct plan *plan, const struct config *config, char *error)
{
	plan->nb_measurements = config->nb_measurements;
	VERIFY(plan->nb_measurements, <=, CONFIG_MEASUREMENTS_MAX);
	for (uint32_t i = 0; i < plan->nb_measurements; i++)
		if (!plan_measurement(
			    &plan->measurements[i], plan, config, &config->measurements[i], error))
			return false;
	return plan_queries(plan, config, error);
}

static bool all_through_kernel(const struct plan_ports *ports)
{
	for (uint32_t p = 0; p < ports->nb_ports; p++)
		if (!ports->ports[p].kernel)
			return false;
	return ports->nb_ports > 0 || ports->source.inputs > 0 || ports->source.joins;
}

static void choose_idle(
	struct plan *plan, const struct config *config, const struct plan_ports *ports)
{
	plan->idle = plan_options(config)->idle;
	if (plan_options(config)->idle == IDLE_AUTO)
		plan->idle =
			plan->oversubscribed || all_through_kernel(ports) ? IDLE_SLEEP : IDLE_SPIN;
}

static void warn_speed(struct plan *plan, const struct topology *topology)
{
	uint32_t polling = plan_nb_polling(plan);

	if (plan->oversubscribed)
		plan_warn(plan,
			"%u lcores that poll%s share %u CPUs%s: each is slower than with its own "
			"CPU",
			polling, polling > plan->nb_cpus ? "" : " and the reporter", plan->nb_cpus,
			plan->idle != IDLE_SPIN ? "" : " without yielding (--idle spin)");
	if (topology->cpu_quota > 0 && topology->cpu_quota < polling)
		plan_warn(plan,
			"the control group limits %u lcores that poll to the time of %.2g CPUs: "
			"the kernel will interrupt them; raise cpu.max",
			polling, topology->cpu_quota);
}

static void plan_rings(struct plan *plan, const struct config *config)
{
	uint32_t size = plan->design->rings ? async_options(config)->ring_size : 0;

	if (plan->forward == FORWARD_OFF || !plan->design->digests)
		plan->ring_size = size;
	else
		plan->digest_ring =
			config_asks(config, NULL, "ring-size") ? size : DIGEST_RING_DEFAULT;
}

/* `of_driver`: the only number that the driver accepts; 0: it accepts any. */
static uint32_t descriptors_of(
	struct plan *plan, uint32_t p, const struct config *config, uint32_t of_driver)
{
	uint32_t asked = port_options(config)->descriptors;
	const char *name = plan->ports[p].name;

	if (of_driver > 0 && asked > 0 && asked != of_driver)
		plan_warn(plan, "%.*s: descriptors ignored: its driver always uses %u",
			(int)strcspn(name, ","), name, of_driver);
	if (of_driver > 0)
		return of_driver;
	return asked > 0 ? asked : DESCRIPTORS_DEFAULT;
}

bool plan_make(struct plan *plan, const struct config *config, const struct topology *topology,
	const struct plan_ports *ports, char *error)
{
	*plan = (struct plan){
		.design =
			ports->source.design != NULL ? ports->source.design : design_chosen(config),
		.config = config,
		.sharing = plan_options(config)->sharing,
		.nb_measurements = config->nb_measurements,
		.mbuf_cache = plan_options(config)->mbuf_cache,
		.forward = ports->nb_ports > 0 ? forward_options(config)->mode : FORWARD_OFF,
	};
	make_groups(plan, ports);
	plan_forwarding(plan);
	for (uint32_t p = 0; p < plan->nb_ports; p++)
		plan->ports[p].descriptors = plan->ports[p].entries = descriptors_of(
			plan, p, config, p < ports->nb_ports ? ports->ports[p].descriptors : 0);
	plan->rules = ports->rules;
	plan->source = ports->source;
	plan->policy = ports->policy;
	plan->mbuf_room = plan->replay ? REPLAY_MBUF_ROOM : PORT_MBUF_ROOM;
	if (plan->mbuf_room < ports->mbuf_room)
		plan->mbuf_room = ports->mbuf_room;
	if (plan->mbuf_room < ports->source.mbuf_room)
		plan->mbuf_room = ports->source.mbuf_room;
	plan->frame_mbufs = ports->frame_mbufs > 1 ? ports->frame_mbufs : 1;
	plan_rings(plan, config);
	if (!count_workers(plan, config, topology, ports, error))
		return false;
	assign_roles(plan);
	plan_assign_cores(plan, topology);
	choose_idle(plan, config, ports);
	warn_speed(plan, topology);
	return plan_measurements(plan, config, error) && plan_memory(plan, config, topology, error);
}

/* !may_choose: the user set --workers. A device with too few queues then fails at its setup. */
static void release_workers(struct plan *plan, const struct plan_device *devices, bool may_choose)
{
	uint32_t kept[PLAN_GROUPS_MAX] = {0}, number = 0;
	char why[80];

	for (uint32_t p = 0; p < plan->nb_ports; p++) {
		snprintf(why, sizeof(why), "it distributes packets to %u receive queue%s",
			devices[p].queues_max, devices[p].queues_max == 1 ? "" : "s");
		if (devices[p].queues_max > 0 && may_choose)
			limit_queues(plan, p, devices[p].queues_max, why);
		obey_driver(plan, p, &devices[p].queues);
	}
	number_workers(plan);
	for (uint32_t i = 0; i < plan->nb_lcores; i++) {
		struct plan_lcore *lcore = &plan->lcores[i];

		if (lcore->role != PLAN_WORKER)
			continue;
		if (kept[lcore->group] == plan->groups[lcore->group].nb_workers) {
			lcore->role = PLAN_SPARE;
			continue;
		}
		kept[lcore->group]++;
		lcore->worker = number++;
	}
}

bool plan_fit(struct plan *plan, const struct config *config, const struct topology *topology,
	const struct plan_device *devices, char *error)
{
	/* EAL has started, so the kind of pages cannot change. */
	bool hugepages = plan->hugepages;
	uint32_t nb_warnings;
	bool fits;

	plan->nb_warnings = 0;
	if (!plan->design->rx_core)
		release_workers(plan, devices, plan_options(config)->workers == 0);
	nb_warnings = plan->nb_warnings;
	for (uint32_t p = 0; p < plan->nb_ports; p++) {
		plan->ports[p].entries = devices[p].entries;
		plan->ports[p].send_entries = devices[p].send_entries;
		if (plan->mbuf_room < devices[p].mbuf_room)
			plan->mbuf_room = devices[p].mbuf_room;
	}
	fits = plan_memory(plan, config, topology, error);
	/* Drop repeated warnings about memory. */
	plan->nb_warnings = nb_warnings;
	plan->hugepages = hugepages;
	return fits;
}

bool plan_change(struct plan *plan, const struct plan *running, const struct config *config,
	const struct topology *topology, char *error)
{
	*plan = *running;
	plan->config = config;
	plan->nb_warnings = 0;
	plan->machine = false;
	memset(plan->measurements, 0, sizeof(plan->measurements));
	return plan_measurements(plan, config, error) && plan_memory_beside(plan, topology, error);
}

/*
 * af_xdp rejects mbufs larger than a page, so an mbuf is not larger than the largest frame needs.
 */
static uint32_t sender_room(const struct config *config, const struct plan_ports *ports)
{
	const char *text = synthetic_options(config)->spec;
	char error[SOURCE_ERROR_MAX];
	struct synthetic_spec spec;
	uint32_t room = PORT_MBUF_ROOM;

	if (text != NULL && synthetic_parse(text, &spec, error) && spec.size_max + HEADROOM > room)
		room = spec.size_max + HEADROOM;
	return room > ports->mbuf_room ? room : ports->mbuf_room;
}

bool plan_make_sender(struct plan *plan, const struct config *config,
	const struct topology *topology, const struct plan_ports *ports, bool receives, char *error)
{
	*plan = (struct plan){
		.design = &design_rss,
		.mbuf_room = sender_room(config, ports),
		.mbuf_cache = SENDER_MBUF_CACHE,
		.nb_lcores = 1,
	};
	make_groups(plan, ports);
	for (uint32_t p = 0; p < plan->nb_ports; p++)
		plan->ports[p].descriptors = port_options(config)->descriptors > 0
						     ? port_options(config)->descriptors
						     : DESCRIPTORS_DEFAULT;
	plan_assign_core(plan, topology);
	plan->groups[plan->ports[0].group].mbufs = SENDER_MBUFS * (receives ? 2 : 1);
	return plan_memory(plan, config, topology, error);
}

const char *plan_sharing_word(uint32_t i)
{
	static const char *const words[] = {
		[SHARING_SEPARATE] = "separate", [SHARING_SHARED] = "shared"};

	return i < SHARING_COUNT ? words[i] : NULL;
}

OPTION_WORDS_OF(sharing_suits,
	[SHARING_SEPARATE] = "one sketch per worker: the fastest, but each needs memory",
	[SHARING_SHARED] = "one sketch for all workers: less memory, but slower atomic updates")

const char *plan_atomic_word(uint32_t i)
{
	static const char *const words[] = {[ATOMIC_CAS] = "cas", [ATOMIC_ADD] = "add", NULL};

	return words[i];
}

OPTION_WORDS_OF(atomic_suits, [ATOMIC_CAS] = "compare-and-swap, for all sketches",
	[ATOMIC_ADD] = "fetch-and-add, faster, if the sketch allows it")

OPTION_WORDS_OF(idle_word, [IDLE_AUTO] = "auto", [IDLE_SPIN] = "spin", [IDLE_YIELD] = "yield",
	[IDLE_SLEEP] = "sleep")

static const char *inapplicable_without_shared(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return plan_options(config)->sharing == SHARING_SHARED ? NULL : "without --sharing shared";
}

static bool check_sharing(const struct config *config, struct option_fault *fault)
{
	for (uint32_t m = 0; m < config->nb_measurements; m++) {
		const struct measurement_config *measurement = &config->measurements[m];
		const struct sketch_ops *ops = measurement_sketch(measurement);
		struct sketch_params params = measurement_params(measurement);
		const char *option, *why;

		why = ops->check_shared != NULL ? ops->check_shared(&params, &option) : NULL;
		if (why != NULL)
			return option_fault(fault, option, measurement, "%s", why);
	}
	return true;
}

/* Returns NULL if the measurement supports flow detail, otherwise the reason. */
static const char *not_for_deep(const struct config *config, enum flow_depth deepest)
{
	if (source_of(config)->no_packets != NULL)
		return source_of(config)->no_packets;
	if (deepest == FLOW_TCP && forward_asked(config) && design_chosen(config)->rx_core)
		return "tcp does not work with --forward and --design async: workers do not get "
		       "all of the TCP header; give --design rss or --flow-detail rate";
	return NULL;
}

static bool check_deep(const struct config *config, struct option_fault *fault)
{
	for (uint32_t m = 0; m < config->nb_measurements; m++) {
		const struct measurement_config *measurement = &config->measurements[m];
		enum flow_depth deepest = measurement_params(measurement).deep.deepest;
		const char *why = deepest != FLOW_COUNT ? not_for_deep(config, deepest) : NULL;

		if (why != NULL)
			return option_fault(fault, "flow-detail", measurement, "%s", why);
	}
	return true;
}

static bool check_plan(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	uint32_t workers = plan_options(config)->workers;

	if (plan_options(config)->sharing == SHARING_SHARED && !check_sharing(config, fault))
		return false;
	if (!check_deep(config, fault))
		return false;
	if (workers <= REPLAY_QUEUES_MAX || !source_is(config, SOURCE_OF_FEEDER) ||
		!source_is(config, SOURCE_PACKETS) || design_chosen(config)->rx_core)
		return true;
	return option_fault(fault, "workers", measurement,
		"%u: too many; with --design rss and --%s the limit is %d", workers,
		source_option(config), REPLAY_QUEUES_MAX);
}

static const struct option_row plan_rows[] = {
	{
		.name = "sharing",
		.placeholder = "SHARING",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_CHOICE,
		.rare = true,
		.suits = sharing_suits,
		.word = plan_sharing_word,
		OPTION_FIELD(plan_options, sharing),
		.default_text = "separate",
		.help = "Select the sketch that a worker updates. separate: each worker has its own "
			"sketch, and the sketches are merged at the end of an interval. shared: all "
			"workers update one sketch with atomic operations. With --kernel and "
			"--design rss: a table per CPU, or one table.",
	},
	{
		.name = "atomic",
		.placeholder = "HOW",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_CHOICE,
		.rare = true,
		.inapplicable = inapplicable_without_shared,
		.suits = atomic_suits,
		.word = plan_atomic_word,
		OPTION_FIELD(plan_options, atomic),
		.default_text = "cas",
		.hidden = true,
		.part_of = "sharing",
		.part = "shared:",
		.help = "Select the atomic operation of updates. cas: compare-and-swap. add: "
			"fetch-and-add if the sketch allows it.",
	},
	{
		.name = "workers",
		.placeholder = "N",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_COUNT,
		OPTION_FIELD(plan_options, workers),
		.min = 1,
		.max = PLAN_WORKERS_MAX,
		.default_note = "as many as fit",
		.help = "Use N cores to count packets. rss: they also receive, and N is at most 16 "
			"with --pcap and --synthetic. async, sync: another core receives.",
	},
	{
		.name = "mbuf-cache",
		.placeholder = "N",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_COUNT,
		.rare = true,
		.not_for = SOURCE_OF_ITSELF,
		OPTION_FIELD(plan_options, mbuf_cache),
		.zero = true,
		.min = 1,
		.max = 512,
		.default_text = "256",
		.config_only = true,
		.help = "Set the size of the packet buffer cache of each core. 0: no cache.",
	},
	{
		.name = "idle",
		.placeholder = "MODE",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_CHOICE,
		.rare = true,
		.word = idle_word,
		OPTION_FIELD(plan_options, idle),
		.default_text = "auto",
		.help = "Select the action of a core without packets. spin: poll. yield: yield to "
			"other threads. sleep: yield, then sleep 50us at a time. auto: sleep if "
			"there are fewer CPUs than polling threads, or packets come from a kernel "
			"interface; else spin.",
	},
	{0},
};

const struct option_owner plan_owner = {
	.rows = plan_rows,
	.size = sizeof(struct plan_options),
	.check = check_plan,
};

static bool is_hexadecimal(const char *text)
{
	return text[0] == '0' && text[1] == 'x' && text[2] != '\0' &&
	       strlen(text + 2) <= 2 * sizeof(uint64_t) &&
	       strspn(text + 2, "0123456789abcdefABCDEF") == strlen(text + 2);
}

static bool is_decimal(const char *text)
{
	return *text != '\0' && strspn(text, "0123456789") == strlen(text);
}

static bool read_seed(const struct option_text *a)
{
	struct seed_options *options = a->field;
	uint64_t value;

	if (is_hexadecimal(a->text))
		value = strtoull(a->text + 2, NULL, 16);
	else if (!is_decimal(a->text) || units_count(a->text, &value) != NULL)
		return option_set_error(
			a, "not a seed; write a number of 64 bits, decimal or 0x...");
	options->seed = value;
	options->given = true;
	return true;
}

bool seed_pick(struct config *config)
{
	struct seed_options *options = edit_seed_options(config);

	return options->given || getrandom(&options->seed, sizeof(options->seed), 0) ==
					 (ssize_t)sizeof(options->seed);
}

static const struct option_row seed_rows[] = {
	{
		.name = "seed",
		.rare = true,
		.placeholder = "N",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_OWN,
		.read = read_seed,
		OPTION_FIELD(seed_options, seed),
		.default_note = "random",
		.help = "Set the seed of hash keys and sampling. The same input, options and seed "
			"give the same output. N is decimal, or hexadecimal after 0x.",
	},
	{0},
};

const struct option_owner seed_owner = {
	.rows = seed_rows,
	.size = sizeof(struct seed_options),
};
