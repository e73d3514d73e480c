/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The plan as a drawing, in Graphviz' language: NUMA nodes are boxes, cores are boxes in them, and
 * edges follow the packets. Ids of the drawing: port<p>, q<p>_<q>, lcore<i>, ring<w>, sketch<i>,
 * pool<g>.
 */

#include <inttypes.h>
#include <string.h>

#include "parallel/plan/plan.h"
#include "parallel/plan/text.h"

/* A quoted string's inside: names come from the user. */
static void print_quoted(FILE *out, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '"' || text[i] == '\\')
			fputc('\\', out);
		fputc(text[i], out);
	}
}

static void print_lcore(const struct plan *plan, uint32_t i, FILE *out)
{
	const struct plan_lcore *lcore = &plan->lcores[i];

	fprintf(out, "lcore%u [shape=ellipse, label=\"lcore %u\\n%s", i, i,
		plan_role_names[lcore->role]);
	if (lcore->role == PLAN_WORKER)
		fprintf(out, " %u", lcore->worker);
	fprintf(out, "\"];\n");
}

/* The lcores of one CPU, as a row of its core's box. */
static void print_cpu(const struct plan *plan, const struct topology_cpu *cpu, FILE *out)
{
	fprintf(out, "\t\t\tcpu%u [shape=plaintext, label=\"CPU %u%s\"];\n", cpu->id, cpu->id,
		cpu->isolated ? " isolated" : "");
	for (uint32_t i = 0; i < plan->nb_lcores; i++)
		if (plan->lcores[i].cpu == (int)cpu->id) {
			fprintf(out, "\t\t\t");
			print_lcore(plan, i, out);
		}
}

/* A core's box, when its first CPU is met; only cores that do something are drawn. */
static void print_core(
	const struct plan *plan, const struct topology *topology, uint32_t first, FILE *out)
{
	const struct topology_cpu *core = &topology->cpus[first];
	bool used = false;

	for (uint32_t i = 0; i < first; i++)
		if (topology_same_core(&topology->cpus[i], core))
			return;
	for (uint32_t i = first; i < topology->nb_cpus; i++)
		for (uint32_t l = 0; l < plan->nb_lcores; l++)
			used |= topology_same_core(&topology->cpus[i], core) &&
				plan->lcores[l].cpu == (int)topology->cpus[i].id;
	if (!used)
		return;
	fprintf(out, "\t\tsubgraph cluster_core%u {\n\t\t\tlabel=\"core %u\";\n", first,
		core->core);
	for (uint32_t i = first; i < topology->nb_cpus; i++)
		if (topology_same_core(&topology->cpus[i], core))
			print_cpu(plan, &topology->cpus[i], out);
	fprintf(out, "\t\t}\n");
}

static void print_pools(const struct plan *plan, int node, FILE *out)
{
	for (uint32_t g = 0; g < plan->nb_groups; g++) {
		const struct plan_group *group = &plan->groups[g];
		char size[PLAN_SIZE_MAX];

		if (group->memory_node != node)
			continue;
		plan_text_size(group->packet_bytes, size);
		fprintf(out,
			"\t\tpool%u [shape=cylinder, label=\"%u mbufs of %u bytes\\nand rings: "
			"%s\"];\n",
			g, group->mbufs, plan->mbuf_room, size);
	}
}

/* Rings and sketches lie with their worker; a shared sketch with the first one. */
static void print_worker_memory(const struct plan *plan, int node, FILE *out)
{
	for (uint32_t i = 0; i < plan->nb_lcores; i++) {
		const struct plan_lcore *lcore = &plan->lcores[i];
		size_t bytes = 0;
		char size[PLAN_SIZE_MAX];

		if (lcore->role != PLAN_WORKER || lcore->node != node)
			continue;
		if (plan->ring_size > 0)
			fprintf(out,
				"\t\t"
				"ring%u [shape=cds, label=\"ring %u\\n%u entries\"];\n",
				lcore->worker, lcore->worker, plan->ring_size);
		if (plan_instance(plan, lcore->worker) != lcore->worker)
			continue;
		for (uint32_t m = 0; m < plan->nb_measurements; m++)
			bytes += plan->measurements[m].instance_bytes * PLAN_GENERATIONS;
		plan_text_size(bytes, size);
		fprintf(out, "\t\tsketch%u [shape=box3d, label=\"sketch %u\\n%s\"];\n",
			lcore->worker, lcore->worker, size);
	}
}

static void print_ports(const struct plan *plan, int node, FILE *out)
{
	for (uint32_t p = 0; p < plan->nb_ports; p++) {
		const struct plan_port *port = &plan->ports[p];
		const struct plan_group *group = &plan->groups[port->group];

		if (port->node != node)
			continue;
		fprintf(out, "\t\tport%u [shape=house, label=\"", p);
		print_quoted(out, port->name, strcspn(port->name, ","));
		fprintf(out, "\"];\n");
		for (uint32_t q = 0; q < group->nb_queues; q++)
			fprintf(out, "\t\tq%u_%u [shape=cds, label=\"queue %u\\n%u entries\"];\n",
				p, q, q, port->descriptors);
	}
}

/* What has no node of its own: all of it where lcores float. */
static void print_nowhere(const struct plan *plan, FILE *out)
{
	print_ports(plan, PLAN_NODE_ANY, out);
	print_pools(plan, PLAN_NODE_ANY, out);
	print_worker_memory(plan, PLAN_NODE_ANY, out);
	for (uint32_t i = 0; i < plan->nb_lcores; i++)
		if (plan->lcores[i].cpu < 0) {
			fprintf(out, "\t\t");
			print_lcore(plan, i, out);
		}
}

static bool node_is_used(const struct plan *plan, int node)
{
	for (uint32_t n = 0; n < plan->nb_nodes; n++)
		if (plan->nodes[n].node == node)
			return true;
	for (uint32_t i = 0; i < plan->nb_lcores; i++)
		if (plan->lcores[i].node == node)
			return true;
	for (uint32_t p = 0; p < plan->nb_ports; p++)
		if (plan->ports[p].node == node)
			return true;
	return false;
}

static void print_node(
	const struct plan *plan, const struct topology *topology, int node, FILE *out)
{
	fprintf(out, "\tsubgraph cluster_node%d {\n\t\tlabel=\"NUMA node %d\";\n", node, node);
	print_ports(plan, node, out);
	print_pools(plan, node, out);
	for (uint32_t i = 0; i < topology->nb_cpus; i++)
		if (topology->cpus[i].node == node)
			print_core(plan, topology, i, out);
	print_worker_memory(plan, node, out);
	fprintf(out, "\t}\n");
}

static void print_queue_edges(const struct plan *plan, uint32_t lcore, uint32_t queue, FILE *out)
{
	for (uint32_t p = 0; p < plan->nb_ports; p++)
		if (plan->ports[p].group == plan->lcores[lcore].group)
			fprintf(out, "\tq%u_%u -> lcore%u;\n", p, queue, lcore);
}

static void print_receiver_edges(const struct plan *plan, uint32_t receiver, FILE *out)
{
	print_queue_edges(plan, receiver, 0, out);
	for (uint32_t i = 0; i < plan->nb_lcores; i++) {
		const struct plan_lcore *worker = &plan->lcores[i];

		if (worker->role != PLAN_WORKER || worker->group != plan->lcores[receiver].group)
			continue;
		if (plan->ring_size > 0)
			fprintf(out, "\tlcore%u -> ring%u -> lcore%u;\n", receiver, worker->worker,
				i);
		else
			fprintf(out, "\tlcore%u -> lcore%u;\n", receiver, i);
	}
}

static void print_edges(const struct plan *plan, FILE *out)
{
	for (uint32_t p = 0; p < plan->nb_ports; p++)
		for (uint32_t q = 0; q < plan->groups[plan->ports[p].group].nb_queues; q++)
			fprintf(out, "\tport%u -> q%u_%u;\n", p, p, q);
	for (uint32_t i = 0; i < plan->nb_lcores; i++) {
		const struct plan_lcore *lcore = &plan->lcores[i];

		if (lcore->role == PLAN_FEEDER)
			fprintf(out, "\tlcore%u -> port0;\n", i);
		if (lcore->role == PLAN_RECEIVER)
			print_receiver_edges(plan, i, out);
		if (lcore->role != PLAN_WORKER)
			continue;
		if (!plan->design->receiver)
			print_queue_edges(plan, i,
				lcore->worker - plan->groups[lcore->group].first_worker, out);
		fprintf(out, "\tlcore%u -> sketch%u;\n", i, plan_instance(plan, lcore->worker));
	}
	for (uint32_t i = 0; i < plan->nb_instances; i++)
		fprintf(out, "\tsketch%u -> lcore0 [style=dashed];\n", i);
}

void plan_print_dot(const struct plan *plan, const struct topology *topology, FILE *out)
{
	fprintf(out,
		"digraph plan {\n\trankdir=LR;\n\tlabel=\"design %s, sharing %s, %u worker%s\";\n",
		plan->design->name, plan->sharing == SHARING_SHARED ? "shared" : "separate",
		plan->nb_workers, plan->nb_workers == 1 ? "" : "s");
	for (int node = 0; node < TOPOLOGY_NODES_MAX; node++)
		if (node_is_used(plan, node))
			print_node(plan, topology, node, out);
	print_nowhere(plan, out);
	print_edges(plan, out);
	fprintf(out, "}\n");
}
