/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/setup.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "parallel/eal.h"
#include "rx/capture/synthetic.h"

#define MEGABYTE (1 << 20)

bool setup_topology(struct topology *topology, const struct config *config)
{
	uint32_t missing;

	topology_read(topology, "");
	if (config->lcores == NULL || topology_restrict(topology, config->lcores, &missing) == 0)
		return true;
	log_error("--lcores %s: this process may not run on CPU %u", config->lcores, missing);
	return false;
}

const char *setup_atomic_name(const struct contestant *contestant)
{
	static const char *const names[] = {
		[ATOMIC_CAS] = "cas", [ATOMIC_ADD] = "add", [ATOMIC_LOCK] = "lock"};

	return contestant->sharing == SHARING_SHARED ? names[contestant->atomic] : "";
}

void setup_run_config(
	struct config *config, const struct config *from, const struct contestant *contestant)
{
	*config = (struct config){
		.design = "rss",
		.sharing = contestant->sharing == SHARING_SHARED ? "shared" : "separate",
		.atomic = contestant->atomic,
		.workers = 1,
		.nb_measurements = 1,
		.seed = from->seed,
		.ring_size = SETUP_RING_SIZE,
		.mbuf_cache = from->mbuf_cache,
		.no_huge = from->no_huge,
		.name = from->name,
		.eal = from->eal,
		.log_level = from->log_level,
		.verbose = from->verbose,
	};
	config->measurements[0] = (struct measurement_config){
		.name = "main",
		.key = key_rules[0],
		.sketch = contestant->sketch->name,
		.collision = contestant->collision,
		.table_hash = contestant->table_hash,
		.top = WORKLOAD_TOP,
		.confidence = 0.999,
	};
}

bool setup_plan(struct plan *plan, const struct config *config, const struct topology *topology,
	char *error)
{
	struct plan_ports ports = {0};

	return plan_make(plan, config, topology, &ports, error);
}

void setup_add_heap(struct plan *plan, const struct topology *topology, size_t megabytes)
{
	uint64_t free_bytes = 0;

	plan->packet_bytes += megabytes / 2 * MEGABYTE; /* EAL gets twice that */
	for (uint32_t n = 0; n < TOPOLOGY_NODES_MAX; n++)
		free_bytes += topology->nodes[n].free_hugepages;
	if (plan->hugepages && free_bytes < 2 * plan->packet_bytes) {
		plan->hugepages = false;
		snprintf(plan->no_hugepages, PLAN_TEXT_MAX, "%llu MB would be needed",
			(unsigned long long)(2 * plan->packet_bytes / MEGABYTE));
	}
}

bool setup_eal(const struct config *config, const struct topology *topology,
	const struct crew *crew, uint32_t nb_lcores, size_t megabytes)
{
	static struct plan plan;
	char error[EAL_ERROR_MAX];

	plan.nb_lcores = nb_lcores;
	for (uint32_t i = 1; i < nb_lcores; i++)
		plan.lcores[i] = (struct plan_lcore){
			.role = PLAN_WORKER, .cpu = (int)crew->cpus[(i - 1) % crew->nb_cpus]};
	plan.hugepages = !config->no_huge;
	snprintf(plan.no_hugepages, PLAN_TEXT_MAX, "--no-huge");
	for (uint32_t i = 0; i < topology->nb_cpus; i++)
		cpu_set_add(&plan.ordinary, topology->cpus[i].id);
	setup_add_heap(&plan, topology, megabytes);
	if (eal_start(&plan, config, error))
		return true;
	log_error("%s", error);
	return false;
}

struct source *setup_source(uint64_t zipf, uint64_t flows)
{
	char error[SOURCE_ERROR_MAX];
	struct synthetic_spec spec;
	struct source *source;

	synthetic_parse("", &spec, error);
	spec.packets = 0;
	spec.random = zipf == CONFIG_ZIPF_RANDOM;
	if (!spec.random) {
		spec.zipf_e6 = (uint32_t)zipf;
		spec.flows = flows;
	}
	source = generate_open(&spec, error);
	if (source == NULL)
		log_error("%s", error);
	return source;
}

void setup_say_intake(const struct workload_intake *intake)
{
	if (intake->ipv6 > 0)
		log_notice("%" PRIu64 " of %" PRIu64
			   " packets are IPv6: IPv4 packets of as many flows stand for them",
			intake->ipv6, intake->ipv4 + intake->ipv6);
}
