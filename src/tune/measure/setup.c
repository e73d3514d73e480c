/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune/measure/setup.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "parallel/run/eal.h"
#include <string.h>
#include <rte_common.h>
#include "parallel/process.h"
#include "sketch/measurement.h"
#include "parallel/plan/machine.h"

#define MEGABYTE (1 << 20)

bool setup_topology(struct topology *topology, const struct config *config)
{
	uint32_t missing;

	topology_read(topology, "");
	if (machine_options(config)->lcores == NULL ||
		topology_restrict(topology, machine_options(config)->lcores, &missing) == 0)
		return true;
	log_error("--lcores %s: CPU %u is not allowed for this process",
		machine_options(config)->lcores, missing);
	return false;
}

const char *setup_atomic_name(const struct bench_subject *subject)
{
	if (subject->sharing != SHARING_SHARED)
		return "";
	return subject->locked ? "lock" : plan_atomic_word(subject->atomic);
}

static void copy_block(
	struct config *config, const struct config *from, const struct option_owner *owner)
{
	memcpy(config_edit(config, owner), config_block(from, owner), owner->size);
}

void setup_run_config(
	struct config *config, const struct config *from, const struct bench_subject *subject)
{
	static const struct option_owner *const of_host[] = {
		&seed_owner, &hugepages_owner, &process_owner, &eal_owner, &log_owner};
	struct measurement_config *measurement = &config->measurements[0];
	struct plan_options *plan;

	*config = (struct config){.command = from->command, .nb_measurements = 1};
	for (size_t i = 0; i < RTE_DIM(of_host); i++)
		copy_block(config, from, of_host[i]);
	plan = edit_plan_options(config);
	plan->sharing = subject->sharing;
	plan->atomic = subject->atomic;
	plan->workers = 1;
	plan->mbuf_cache = plan_options(from)->mbuf_cache;
	edit_async_options(config)->ring_size = SETUP_RING_SIZE;
	measurement->name = "main";
	*edit_measurement_options(measurement) = (struct measurement_options){
		.key = key_rules[0],
		.sketch = sketch_index(sketch_find(subject->sketch->name)),
		.top = WORKLOAD_TOP,
		.confidence = 0.999,
	};
}

void setup_add_heap(struct plan *plan, const struct topology *topology, size_t megabytes)
{
	uint64_t free_bytes = 0;

	plan->packet_bytes += megabytes / 2 * MEGABYTE; /* EAL gets twice this memory */
	for (uint32_t n = 0; n < TOPOLOGY_NODES_MAX; n++)
		free_bytes += topology->nodes[n].free_hugepages;
	if (plan->hugepages && free_bytes < 2 * plan->packet_bytes) {
		plan->hugepages = false;
		snprintf(plan->no_hugepages, PLAN_TEXT_MAX, "%llu MB are needed",
			(unsigned long long)(2 * plan->packet_bytes / MEGABYTE));
	}
}

bool setup_eal(const struct config *config, const struct topology *topology,
	const struct cpus *cpus, uint32_t nb_lcores, size_t megabytes)
{
	static struct plan plan;
	char error[EAL_ERROR_MAX];

	plan.nb_lcores = nb_lcores;
	for (uint32_t i = 1; i < nb_lcores; i++)
		plan.lcores[i] = (struct plan_lcore){
			.role = PLAN_WORKER, .cpu = (int)cpus->ids[(i - 1) % cpus->n]};
	plan.hugepages = !hugepages_options(config)->no_huge;
	snprintf(plan.no_hugepages, PLAN_TEXT_MAX, "--no-huge");
	for (uint32_t i = 0; i < topology->nb_cpus; i++)
		cpu_set_add(&plan.ordinary, topology->cpus[i].id);
	setup_add_heap(&plan, topology, megabytes);
	if (eal_start(&plan, config, error))
		return true;
	log_error("%s", error);
	return false;
}

void setup_say_intake(const struct workload_intake *intake)
{
	if (intake->ipv6 > 0)
		log_notice(
			"%" PRIu64 " of %" PRIu64
			" packets are IPv6: replaced by IPv4 packets with the same number of flows",
			intake->ipv6, intake->ipv4 + intake->ipv6);
}
