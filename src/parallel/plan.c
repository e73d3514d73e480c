/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/plan.h"

#include <stdarg.h>
#include <string.h>

#include "base/key_burst.h"
#include "sketch/hyperloglog.h"

/* librte_net_ring: at most so many queues on an ethdev made of rings. */
#define REPLAY_QUEUES_MAX 16

#define DESCRIPTORS_DEFAULT 1024
#define MBUF_STRUCT_BYTES   128
/* The mempool's header, and padding that spreads objects over memory channels. */
#define MBUF_OVERHEAD_BYTES 128
/* On a replay only the headers that decide are copied; few packets need more (rx/feeder.c). */
#define REPLAY_MBUF_ROOM    256
/* A device writes whole frames: a 1518-byte frame with two tags, and DPDK's headroom. */
#define PORT_MBUF_ROOM      (2048 + 128)

/* The largest generated frame, and DPDK's headroom. */
#define SENDER_MBUF_ROOM (9216 + 128)
#define SENDER_MBUFS     4095

#define GENERATIONS 2

__attribute__((format(printf, 2, 3))) static void warn(struct plan *plan, const char *format, ...)
{
	va_list args;

	if (plan->nb_warnings == PLAN_WARNINGS_MAX)
		return;
	va_start(args, format);
	vsnprintf(plan->warnings[plan->nb_warnings++], PLAN_TEXT_MAX, format, args);
	va_end(args);
}

/*
 * Order in which CPUs are given away: the port's node first, then one CPU of every physical core,
 * then the hyperthreads; CPU 0, where the kernel does its own work, last within its kind.
 */
struct cpu_choice {
	const struct topology_cpu *cpu;
	bool remote, thread, zero;
};

static bool choice_before(const struct cpu_choice *a, const struct cpu_choice *b)
{
	if (a->remote != b->remote)
		return b->remote;
	if (a->thread != b->thread)
		return b->thread;
	if (a->zero != b->zero)
		return b->zero;
	return a->cpu->id < b->cpu->id;
}

static void order_cpus(
	const struct topology *topology, int node, struct cpu_choice choices[TOPOLOGY_CPUS_MAX])
{
	for (uint32_t i = 0; i < topology->nb_cpus; i++) {
		struct cpu_choice choice = {.cpu = &topology->cpus[i]};
		uint32_t at = i;

		choice.remote = node != PLAN_NODE_ANY && choice.cpu->node != node;
		choice.zero = choice.cpu->id == 0;
		for (uint32_t j = 0; j < i; j++)
			choice.thread |= topology->cpus[j].package == choice.cpu->package &&
					 topology->cpus[j].core == choice.cpu->core;
		for (; at > 0 && choice_before(&choice, &choices[at - 1]); at--)
			choices[at] = choices[at - 1];
		choices[at] = choice;
	}
}

/* Polling lcores that are no workers. */
static uint32_t nb_helpers(const struct plan *plan)
{
	return (plan->replay ? 1 : 0) + (plan->design->connect != NULL ? 1 : 0);
}

static uint32_t workers_by_default(const struct plan *plan, uint32_t nb_cpus)
{
	uint32_t limit = plan->replay && plan->design->connect == NULL ? REPLAY_QUEUES_MAX
								       : CONFIG_WORKERS_MAX;
	/* With two CPUs the reporter shares the feeder's; with more it gets one of its own. */
	uint32_t others = nb_helpers(plan) + (nb_cpus > 2 || !plan->replay ? 1 : 0);
	uint32_t workers = nb_cpus > others ? nb_cpus - others : 1;

	return workers < limit ? workers : limit;
}

static void place_lcore(struct plan_lcore *lcore, const struct topology_cpu *cpu)
{
	lcore->cpu = (int)cpu->id;
	lcore->node = cpu->node;
}

static void assign_roles(struct plan *plan)
{
	plan->nb_lcores = 0;
	plan->lcores[plan->nb_lcores++].role = PLAN_REPORTER;
	if (plan->replay)
		plan->lcores[plan->nb_lcores++].role = PLAN_FEEDER;
	if (plan->design->connect != NULL)
		plan->lcores[plan->nb_lcores++].role = PLAN_RECEIVER;
	for (uint32_t w = 0; w < plan->nb_workers; w++)
		plan->lcores[plan->nb_lcores++] =
			(struct plan_lcore){.role = PLAN_WORKER, .worker = w};
}

static void place_lcores(struct plan *plan, const struct topology *topology)
{
	static _Thread_local struct cpu_choice choices[TOPOLOGY_CPUS_MAX];
	uint32_t helpers = nb_helpers(plan), next = 0;

	order_cpus(topology, plan->port_node, choices);
	plan->nb_cpus = topology->nb_cpus;
	for (uint32_t i = 0; i < plan->nb_cpus; i++)
		plan->cpus[i] = topology->cpus[i].id;
	assign_roles(plan);

	/* The reporter may share a CPU with the feeder, which a pause never hurts. */
	plan->oversubscribed = plan->nb_workers + helpers + (plan->replay ? 0 : 1) > plan->nb_cpus;
	if (plan->oversubscribed) {
		for (uint32_t i = 0; i < plan->nb_lcores; i++) {
			plan->lcores[i].cpu = -1;
			plan->lcores[i].node = PLAN_NODE_ANY;
		}
		return;
	}
	/*
	 * Those who touch packets of a port choose first, workers before the receiver, then the
	 * feeder; the reporter takes what is left, or joins the feeder.
	 */
	for (uint32_t i = 1 + helpers; i < plan->nb_lcores; i++) {
		if (choices[next].remote)
			warn(plan, "worker %u sits on NUMA node %d, its port on node %d",
				plan->lcores[i].worker, choices[next].cpu->node, plan->port_node);
		place_lcore(&plan->lcores[i], choices[next++].cpu);
	}
	for (uint32_t i = helpers; i > 0; i--)
		place_lcore(&plan->lcores[i], choices[next++].cpu);
	place_lcore(&plan->lcores[0], choices[next < plan->nb_cpus ? next : next - 1].cpu);
}

static bool plan_measurement(struct plan_measurement *m, const struct config *run_config,
	const struct measurement_config *config, enum sketch_sharing sharing, char *error)
{
	const char *why;
	double wanted = config->top;

	m->config = config;
	m->ops = sketch_find(config->sketch);
	/* Candidates compete for the places of a bucket, and the heaviest must always win. */
	if (config->threshold > 0 && (wanted == 0 || 1 / config->threshold < wanted))
		wanted = 1 / config->threshold;
	m->params = (struct sketch_params){
		.depth = config->depth,
		.width = config->width,
		.metric = config->count == METRIC_BYTES ? SKETCH_BYTES : SKETCH_PACKETS,
		.candidates =
			wanted <= 200 ? 0 : (uint32_t)(10 * wanted), /* 0: the sketch's default */
		.seed = run_config->seed,
		.atomic = run_config->atomic,
	};
	if (config->memory > 0) {
		m->params.width = sketch_width_for(m->ops, &m->params, config->memory);
		if (m->params.width == 0) {
			snprintf(error, PLAN_TEXT_MAX,
				"--memory %llu is less than the smallest %s needs",
				(unsigned long long)config->memory, m->ops->name);
			return false;
		}
	}
	if (m->ops->update[sharing] == NULL) {
		snprintf(error, PLAN_TEXT_MAX, "measurement %s: %s cannot be shared by workers",
			config->name, m->ops->name);
		return false;
	}
	why = m->ops->check(&m->params);
	if (why != NULL) {
		snprintf(error, PLAN_TEXT_MAX, "measurement %s: %s", config->name, why);
		return false;
	}
	m->instance_bytes = m->ops->memory(&m->params);
	return true;
}

static uint32_t power_of_two_at_least(uint32_t n)
{
	uint32_t power = 1;

	while (power < n)
		power *= 2;
	return power;
}

static bool plan_memory(
	struct plan *plan, const struct config *config, const struct plan_ports *ports, char *error)
{
	uint32_t queues = plan->nb_ports * plan->nb_queues;
	uint32_t rings = plan->ring_size > 0 ? plan->nb_workers : 0;
	size_t instances = (size_t)plan->nb_instances * GENERATIONS + 1; /* and the merged one */
	size_t counters = (size_t)plan->nb_workers * GENERATIONS + 1;    /* of distinct keys */
	uint32_t needed;

	plan->descriptors = config->descriptors > 0 ? config->descriptors : DESCRIPTORS_DEFAULT;
	plan->mbuf_cache = config->mbuf_cache;
	plan->mbuf_room = plan->replay ? REPLAY_MBUF_ROOM : PORT_MBUF_ROOM;
	if (plan->mbuf_room < ports->mbuf_room)
		plan->mbuf_room = ports->mbuf_room;
	/* Every ring full, a burst in every hand, and every lcore's cache. */
	needed = queues * (plan->descriptors + 2 * BURST_MAX) +
		 rings * (plan->ring_size + 2 * BURST_MAX) + plan->nb_lcores * 2 * plan->mbuf_cache;
	if (config->mbufs > 0 && config->mbufs < needed) {
		snprintf(error, PLAN_TEXT_MAX,
			"--mbufs %u would run dry: these rings, bursts and caches hold up to %u",
			config->mbufs, needed);
		return false;
	}
	/* 2^n - 1 suits a mempool. */
	plan->mbufs = config->mbufs > 0 ? config->mbufs : power_of_two_at_least(needed) - 1;
	plan->packet_bytes =
		(size_t)plan->mbufs * (MBUF_STRUCT_BYTES + MBUF_OVERHEAD_BYTES + plan->mbuf_room) +
		(size_t)queues * plan->descriptors * sizeof(void *) * 2 +
		(size_t)rings * plan->ring_size * sizeof(void *) * 2;
	for (uint32_t i = 0; i < plan->nb_measurements; i++)
		plan->sketch_bytes += instances * plan->measurements[i].instance_bytes +
				      counters * sizeof(struct hyperloglog);
	return true;
}

bool plan_make(struct plan *plan, const struct config *config, const struct topology *topology,
	const struct plan_ports *ports, char *error)
{
	*plan = (struct plan){
		.design = design_find(config->design),
		.sharing =
			strcmp(config->sharing, "shared") == 0 ? SHARING_SHARED : SHARING_SEPARATE,
		.replay = ports->nb_ports == 0,
		.nb_ports = ports->nb_ports == 0 ? 1 : ports->nb_ports,
		.port_node = ports->node,
		.nb_workers = config->workers,
		.nb_measurements = config->nb_measurements,
	};
	if (plan->nb_workers == 0)
		plan->nb_workers = workers_by_default(plan, topology->nb_cpus);
	plan->nb_queues = plan->design->connect == NULL ? plan->nb_workers : 1;
	plan->nb_instances = plan->sharing == SHARING_SHARED ? 1 : plan->nb_workers;
	plan->ring_size = plan->design == &design_async ? config->ring_size : 0;
	if (plan->replay && plan->nb_queues > REPLAY_QUEUES_MAX) {
		snprintf(error, PLAN_TEXT_MAX,
			"%u workers on a replay, whose port has at most %u queues: lower --workers",
			plan->nb_workers, REPLAY_QUEUES_MAX);
		return false;
	}
	place_lcores(plan, topology);
	plan->yield =
		config->idle == IDLE_YIELD || (config->idle == IDLE_AUTO && plan->oversubscribed);
	if (plan->oversubscribed)
		warn(plan,
			"%u lcores that poll share %u CPUs: they take turns%s, and speeds mean "
			"little",
			plan->nb_workers + nb_helpers(plan), plan->nb_cpus,
			plan->yield ? "" : " without yielding (--idle spin)");
	for (uint32_t i = 0; i < plan->nb_measurements; i++)
		if (!plan_measurement(&plan->measurements[i], config, &config->measurements[i],
			    plan->sharing, error))
			return false;
	return plan_memory(plan, config, ports, error);
}

void plan_make_sender(
	struct plan *plan, const struct config *config, const struct topology *topology)
{
	*plan = (struct plan){
		.nb_ports = 1,
		.nb_lcores = 1,
		.port_node = PLAN_NODE_ANY,
		.descriptors = config->descriptors > 0 ? config->descriptors : DESCRIPTORS_DEFAULT,
		.mbuf_room = SENDER_MBUF_ROOM,
		.mbufs = config->mbufs > 0 ? config->mbufs : SENDER_MBUFS,
	};
	place_lcore(&plan->lcores[0], &topology->cpus[topology->nb_cpus - 1]);
	plan->packet_bytes =
		(size_t)plan->mbufs * (MBUF_STRUCT_BYTES + MBUF_OVERHEAD_BYTES + plan->mbuf_room);
}

static void print_size(FILE *out, size_t bytes)
{
	if (bytes >= 1 << 20)
		fprintf(out, "%.1f MB", (double)bytes / (1 << 20));
	else
		fprintf(out, "%.1f KB", (double)bytes / (1 << 10));
}

/* What an lcore does, in words. */
static void describe_lcore(
	const struct plan *plan, const struct plan_lcore *lcore, char *text, size_t size)
{
	const char *many = plan->nb_workers == 1 ? "" : "s";

	switch (lcore->role) {
	case PLAN_REPORTER:
		snprintf(text, size, "closes epochs, merges, ranks; sleeps between");
		break;
	case PLAN_FEEDER:
		snprintf(text, size, "reads packets, steers them to %u ring%s of a port",
			plan->nb_queues, plan->nb_queues == 1 ? "" : "s");
		break;
	case PLAN_RECEIVER:
		snprintf(text, size,
			plan->ring_size > 0 ? "receives queue 0 of %u port%s, deals to %u ring%s"
					    : "receives queue 0 of %u port%s, starts %u worker%s",
			plan->nb_ports, plan->nb_ports == 1 ? "" : "s", plan->nb_workers, many);
		break;
	case PLAN_WORKER:
		if (plan->ring_size > 0)
			snprintf(text, size, "takes from ring %u, updates sketch %u", lcore->worker,
				plan_instance(plan, lcore->worker));
		else if (plan->design->connect != NULL)
			snprintf(text, size, "takes part %u of a burst, updates sketch %u",
				lcore->worker, plan_instance(plan, lcore->worker));
		else
			snprintf(text, size, "receives queue %u of %u port%s, updates sketch %u",
				lcore->worker, plan->nb_ports, plan->nb_ports == 1 ? "" : "s",
				plan_instance(plan, lcore->worker));
		break;
	}
}

static void print_lcores(const struct plan *plan, FILE *out)
{
	static const char *const roles[] = {
		[PLAN_REPORTER] = "reporter",
		[PLAN_FEEDER] = "feeder",
		[PLAN_RECEIVER] = "receiver",
		[PLAN_WORKER] = "worker",
	};

	fprintf(out, "lcore  CPU    node   role      does\n");
	for (uint32_t i = 0; i < plan->nb_lcores; i++) {
		const struct plan_lcore *lcore = &plan->lcores[i];
		char cpu[16] = "any", node[16] = "any", does[PLAN_TEXT_MAX];

		if (lcore->cpu >= 0)
			snprintf(cpu, sizeof(cpu), "%d", lcore->cpu);
		if (lcore->node >= 0)
			snprintf(node, sizeof(node), "%d", lcore->node);
		describe_lcore(plan, lcore, does, sizeof(does));
		fprintf(out, "%-6u %-6s %-6s %-9s %s\n", i, cpu, node, roles[lcore->role], does);
	}
	fprintf(out, "\nCPUs");
	for (uint32_t i = 0; i < plan->nb_cpus; i++)
		fprintf(out, "%s%u", i == 0 ? " " : ",", plan->cpus[i]);
	fprintf(out, "; idle lcores %s\n", plan->yield ? "yield" : "spin");
}

static void print_memory(const struct plan *plan, FILE *out)
{
	size_t instances = (size_t)plan->nb_instances * GENERATIONS + 1;

	fprintf(out, "packets: %u mbufs of %u bytes, receive rings of %u", plan->mbufs,
		plan->mbuf_room, plan->descriptors);
	if (plan->ring_size > 0)
		fprintf(out, ", worker rings of %u", plan->ring_size);
	fprintf(out, ": ");
	print_size(out, plan->packet_bytes);
	fprintf(out, "\n");
	for (uint32_t i = 0; i < plan->nb_measurements; i++) {
		const struct plan_measurement *m = &plan->measurements[i];

		fprintf(out, "measurement %s: %s of %s, %s %u x %llu, one instance ",
			m->config->name, m->config->count == METRIC_BYTES ? "bytes" : "packets",
			m->config->key->name, m->ops->name, m->params.depth,
			(unsigned long long)m->params.width);
		print_size(out, m->instance_bytes);
		fprintf(out, ", %u %s x %u generations + 1 merged: ", plan->nb_instances,
			plan->sharing == SHARING_SHARED ? "shared" : "separate", GENERATIONS);
		print_size(out, m->instance_bytes * instances);
		fprintf(out, "\n");
	}
	fprintf(out, "memory in all: ");
	print_size(out, plan->packet_bytes + plan->sketch_bytes);
	fprintf(out, "\n");
}

void plan_print(const struct plan *plan, FILE *out)
{
	fprintf(out, "design %s, sharing %s, %u worker%s, %s\n\n", plan->design->name,
		plan->sharing == SHARING_SHARED ? "shared" : "separate", plan->nb_workers,
		plan->nb_workers == 1 ? "" : "s",
		plan->replay ? "rings fed from a capture or the generator" : "device queues");
	print_lcores(plan, out);
	print_memory(plan, out);
	for (uint32_t i = 0; i < plan->nb_warnings; i++)
		fprintf(out, "warning: %s\n", plan->warnings[i]);
}
