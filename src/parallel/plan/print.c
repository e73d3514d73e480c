/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "parallel/plan/plan.h"
#include "sketch/kernel_layout.h"

#define NODE_TEXT_MAX 32

const char *const plan_role_names[] = {
	[PLAN_REPORTER] = "reporter",
	[PLAN_FEEDER] = "feeder",
	[PLAN_RECEIVER] = "receiver",
	[PLAN_WORKER] = "worker",
	[PLAN_SPARE] = "spare",
};

static const char *const idle_words[] = {
	[IDLE_SPIN] = "spin",
	[IDLE_YIELD] = "yield",
	[IDLE_SLEEP] = "yield and sleep",
};

static const char *plural(uint32_t n)
{
	return n == 1 ? "" : "s";
}

static void print_size(FILE *out, size_t bytes)
{
	if (bytes >= 1 << 20)
		fprintf(out, "%.1f MB", (double)bytes / (1 << 20));
	else
		fprintf(out, "%.1f KB", (double)bytes / (1 << 10));
}

/* Writes text such as "2 ports", or "ports 0,2" if there are several groups. */
static void describe_ports(const struct plan *plan, uint32_t g, char *text, size_t size)
{
	const struct plan_group *group = &plan->groups[g];
	struct cpu_set numbers = {0};
	char list[64];

	if (plan->nb_groups == 1) {
		snprintf(text, size, "%u port%s", group->nb_ports, plural(group->nb_ports));
		return;
	}
	for (uint32_t p = 0; p < plan->nb_ports; p++)
		if (plan->ports[p].group == g)
			cpu_set_add(&numbers, p);
	cpu_set_print(&numbers, list, sizeof(list));
	snprintf(text, size, "port%s %s", plural(group->nb_ports), list);
}

static const char *sends(const struct plan *plan)
{
	return plan->forward != FORWARD_OFF ? "sends, " : "";
}

static void describe_worker(
	const struct plan *plan, const struct plan_lcore *lcore, char *text, size_t size)
{
	uint32_t part = lcore->worker - plan->groups[lcore->group].first_worker;
	uint32_t instance = plan_instance(plan, lcore->worker);
	char ports[96];

	describe_ports(plan, lcore->group, ports, sizeof(ports));
	if (plan->digest_ring > 0)
		snprintf(text, size, "takes digests from ring %u, updates sketch %u", lcore->worker,
			instance);
	else if (plan->ring_size > 0)
		snprintf(text, size, "takes from ring %u, updates sketch %u", lcore->worker,
			instance);
	else if (plan->design->rx_core)
		snprintf(text, size, "takes part %u of a burst, updates sketch %u", part, instance);
	else
		snprintf(text, size, "receives queue %u of %s, %supdates sketch %u", part, ports,
			sends(plan), instance);
}

static void describe_lcore(
	const struct plan *plan, const struct plan_lcore *lcore, char *text, size_t size)
{
	const struct plan_group *group = &plan->groups[lcore->group];
	char ports[96];

	if (plan->source.describe != NULL &&
		(lcore->role == PLAN_WORKER || lcore->role == PLAN_RECEIVER)) {
		plan->source.describe(plan, lcore, text, size);
		return;
	}
	switch (lcore->role) {
	case PLAN_REPORTER:
		snprintf(text, size, "ends intervals, merges, ranks; sleeps in between");
		break;
	case PLAN_FEEDER:
		snprintf(text, size, "reads packets, distributes them to %u ring%s of a port",
			group->nb_queues, plural(group->nb_queues));
		break;
	case PLAN_RECEIVER:
		describe_ports(plan, lcore->group, ports, sizeof(ports));
		snprintf(text, size,
			plan->digest_ring > 0 ? "receives queue 0 of %s, writes digests to %u "
						"ring%s, sends"
			: plan->ring_size > 0 ? "receives queue 0 of %s, distributes to %u ring%s"
					      : "receives queue 0 of %s, starts %u worker%s",
			ports, group->nb_workers, plural(group->nb_workers));
		break;
	case PLAN_WORKER: describe_worker(plan, lcore, text, size); break;
	case PLAN_SPARE: snprintf(text, size, "not used: no queue is left"); break;
	}
}

static void text_of_node(int node, char text[NODE_TEXT_MAX])
{
	if (node >= 0)
		snprintf(text, NODE_TEXT_MAX, "%d", node);
	else
		snprintf(text, NODE_TEXT_MAX, "any");
}

static void print_lcores(const struct plan *plan, FILE *out)
{
	char list[256];

	fprintf(out, "lcore  CPU    node   role      does\n");
	for (uint32_t i = 0; i < plan->nb_lcores; i++) {
		const struct plan_lcore *lcore = &plan->lcores[i];
		char cpu[16] = "any", node[NODE_TEXT_MAX], does[PLAN_TEXT_MAX];

		if (lcore->cpu >= 0)
			snprintf(cpu, sizeof(cpu), "%d", lcore->cpu);
		text_of_node(lcore->node, node);
		describe_lcore(plan, lcore, does, sizeof(does));
		fprintf(out, "%-6u %-6s %-6s %-9s %s\n", i, cpu, node, plan_role_names[lcore->role],
			does);
	}
	cpu_set_print(&plan->cpus, list, sizeof(list));
	fprintf(out, "\nCPUs %s; idle lcores %s; ", list, idle_words[plan->idle]);
	cpu_set_print(&plan->ordinary, list, sizeof(list));
	fprintf(out, "reporter, writer and other threads on %s\n", list);
}

static void print_ports(const struct plan *plan, FILE *out)
{
	for (uint32_t p = 0; p < plan->nb_ports; p++) {
		const struct plan_port *port = &plan->ports[p];
		const struct plan_group *group = &plan->groups[port->group];

		fprintf(out, "port %u: %.*s, NUMA node ", p, (int)strcspn(port->name, ","),
			port->name);
		if (port->node >= 0)
			fprintf(out, "%d", port->node);
		else
			fprintf(out, "unknown");
		fprintf(out, ", %u queue%s of %u descriptors", group->nb_queues,
			plural(group->nb_queues), port->descriptors);
		if (plan->forward != FORWARD_OFF)
			fprintf(out, ", leaves by port %u (%u send queue%s of %u)", port->out,
				plan->ports[port->out].send_queues,
				plural(plan->ports[port->out].send_queues),
				plan->ports[port->out].send_entries);
		if (plan->nb_groups > 1)
			fprintf(out, ", worker%s %u", plural(group->nb_workers),
				group->first_worker);
		if (plan->nb_groups > 1 && group->nb_workers > 1)
			fprintf(out, " to %u", group->first_worker + group->nb_workers - 1);
		fprintf(out, "\n");
	}
	fprintf(out, "\n");
}

static void print_pools(const struct plan *plan, FILE *out)
{
	for (uint32_t g = 0; g < plan->nb_groups; g++) {
		const struct plan_group *group = &plan->groups[g];
		char node[NODE_TEXT_MAX];

		if (group->mbufs == 0)
			continue;
		text_of_node(group->memory_node, node);
		fprintf(out, "packets on node %s: %u mbufs of %u bytes, receive%s rings", node,
			group->mbufs, plan->mbuf_room,
			plan->forward != FORWARD_OFF ? " and send" : "");
		if (plan->ring_size > 0)
			fprintf(out, ", worker rings of %u", plan->ring_size);
		fprintf(out, ": ");
		print_size(out, group->packet_bytes);
		fprintf(out, "\n");
	}
}

/* Prints " (PART SIZE, ...)". */
static void print_parts(const struct plan_measurement *m, FILE *out)
{
	struct sketch_memory parts[SKETCH_MEMORY_PARTS_MAX] = {0};
	struct sketch_params largest = m->params;
	const char *before = " (";

	if (m->ops->memory_parts == NULL)
		return;
	if (m->changes)
		largest.width = largest.width_max;
	m->ops->memory_parts(&largest, parts);
	for (uint32_t p = 0; p < SKETCH_MEMORY_PARTS_MAX; p++) {
		if (parts[p].bytes == 0)
			continue;
		fprintf(out, "%s%s ", before, parts[p].name);
		print_size(out, parts[p].bytes);
		before = ", ";
	}
	fprintf(out, ")");
}

static void print_measurements(const struct plan *plan, FILE *out)
{
	size_t instances = (size_t)plan->nb_instances * PLAN_GENERATIONS;

	for (uint32_t i = 0; i < plan->nb_measurements; i++) {
		const struct plan_measurement *m = &plan->measurements[i];

		fprintf(out, "measurement %s: %s of %s, %s %u x %llu, ", m->config->name,
			m->params.metric == SKETCH_BYTES ? "bytes" : "packets", m->params.key->name,
			m->ops->name, m->params.depth, (unsigned long long)m->params.width);
		if (m->changes)
			fprintf(out, "up to %llu, ", (unsigned long long)m->params.width_max);
		fprintf(out, "one instance ");
		print_size(out, m->instance_bytes);
		print_parts(m, out);
		fprintf(out, ", %u %s x %u generations%s: ", plan->nb_instances,
			plan_sharing_word(plan->sharing), PLAN_GENERATIONS,
			m->merged    ? " + 1 merged"
			: m->changes ? " + 1 while one changes its size"
				     : "");
		print_size(out, m->instance_bytes * (instances + m->merged + m->changes));
		if (m->listing_bytes > 0) {
			fprintf(out, ", reporter, while it decodes one ");
			print_size(out, m->listing_bytes);
		}
		if (m->params.idle_timeout > 0)
			fprintf(out, ", records end after %g s",
				(double)m->params.idle_timeout / 1e9);
		if (m->params.deep.deepest != FLOW_COUNT)
			fprintf(out, ", up to %u flows in state %s", m->params.deep.flows,
				flow_depth_word(m->params.deep.deepest));
		if (m->drill_down_bytes > 0) {
			fprintf(out, ", drill-down keys ");
			print_size(out, m->drill_down_bytes);
		}
		fprintf(out, "\n");
	}
}

static void print_digests(const struct plan *plan, FILE *out)
{
	size_t ring = plan_digest_ring_bytes(plan->digest_ring);
	uint32_t fields = 0;

	for (uint32_t m = 0; m < plan->nb_measurements; m++)
		fields |= plan->measurements[m].params.key->fields;
	fprintf(out, "digests, %u ring%s of %zu IPv4 or %zu IPv6 packets: ", plan->nb_workers,
		plan->nb_workers == 1 ? "" : "s", ring / plan_digest_bytes(fields, false),
		ring / plan_digest_bytes(fields, true));
	print_size(out, plan->digest_bytes);
	fprintf(out, "\n");
}

static void print_memory(const struct plan *plan, FILE *out)
{
	print_pools(plan, out);
	print_measurements(plan, out);
	if (plan->hugepages)
		fprintf(out, "packets are in hugepages\n");
	else
		fprintf(out, "packets are in ordinary memory: %s\n", plan->no_hugepages);
	for (uint32_t n = 0; n < plan->nb_nodes && plan->nb_nodes > 1; n++) {
		char node[NODE_TEXT_MAX];

		text_of_node(plan->nodes[n].node, node);
		fprintf(out, "memory on node %s: packets ", node);
		print_size(out, plan->nodes[n].packet_bytes);
		fprintf(out, ", sketches ");
		print_size(out, plan->nodes[n].sketch_bytes);
		fprintf(out, ", rules ");
		print_size(out, plan->nodes[n].rule_bytes);
		fprintf(out, "\n");
	}
	if (plan_bytes_of_rules(plan) > 0) {
		fprintf(out, "rules in ordinary memory: ");
		print_size(out, plan_bytes_of_rules(plan));
		fprintf(out, "\n");
	}
	if (plan->digest_bytes > 0)
		print_digests(plan, out);
	if (plan->source.bytes > 0) {
		fprintf(out, "%s: ", plan->source.memory);
		print_size(out, plan->source.bytes - plan->source.waiting_bytes);
		fprintf(out, "\n");
	}
	if (plan->source.waiting_bytes > 0) {
		fprintf(out, "%s: ", plan->source.waiting);
		print_size(out, plan->source.waiting_bytes);
		fprintf(out, "\n");
	}
	if (plan_bytes_of_shedding(plan) > 0) {
		fprintf(out, "load shedding state and log: ");
		print_size(out, plan_bytes_of_shedding(plan));
		fprintf(out, "\n");
	}
	fprintf(out, "total memory: ");
	print_size(out, plan->packet_bytes + plan->sketch_bytes + plan->rule_bytes);
	fprintf(out, "\n");
}

void plan_print(const struct plan *plan, FILE *out)
{
	fprintf(out, "design %s, sharing %s, %u worker%s, %s\n\n", plan->design->name,
		plan_sharing_word(plan->sharing), plan->nb_workers, plural(plan->nb_workers),
		plan->replay          ? "rings fed from a capture or the generator"
		: plan->nb_ports == 0 ? plan->source.queues
				      : "device queues");
	print_ports(plan, out);
	print_lcores(plan, out);
	print_memory(plan, out);
	for (uint32_t i = 0; i < plan->nb_warnings; i++)
		fprintf(out, "warning: %s\n", plan->warnings[i]);
}
