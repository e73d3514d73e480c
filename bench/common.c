/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/common.h"

#include <stdio.h>
#include <string.h>

#include "base/assertion.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/units.h"
#include "parallel/workers/node_memory.h"
#include "rx/generate/synthetic.h"
#include "rx/packet/parse.h"
#include "rx/packet/rss_hash.h"
#include "rx/source.h"

#define ZIPF_E6_MAX 10000000 /* same limit as --synthetic */

static bool draws_flows(const struct config *config)
{
	const struct bench_options *bench = bench_options(config);

	for (uint32_t i = 0; i < bench->zipf.n; i++)
		if (bench->zipf.values[i] != BENCH_ZIPF_RANDOM)
			return true;
	return bench->zipf.n == 0;
}

const char *bench_inapplicable_without_flows(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return draws_flows(config) ? NULL : "without traffic that is drawn from flows";
}

bool bench_read_zipf(const struct option_text *text)
{
	uint64_t e6;

	if (strcmp(text->text, "uniform") == 0)
		return option_add_value(text, 0);
	if (strcmp(text->text, "random") == 0)
		return option_add_value(text, BENCH_ZIPF_RANDOM);
	if (units_millionths(text->text, &e6) != NULL || e6 > ZIPF_E6_MAX)
		return option_set_error(text,
			"invalid; give exponents from 0 to 10 with at most six decimals, "
			"uniform or random");
	return option_add_value(text, e6);
}

bool choices_each_traffic(const struct option_values *zipf, const struct option_values *flows,
	bool (*visit)(void *arg, uint64_t zipf, uint64_t flows), void *arg)
{
	for (uint32_t z = 0; z < zipf->n; z++) {
		bool random = zipf->values[z] == BENCH_ZIPF_RANDOM;

		for (uint32_t f = 0; f < (random ? 1 : flows->n); f++) {
			if (signals_stop_requested())
				return true;
			if (!visit(arg, zipf->values[z], random ? 0 : flows->values[f]))
				return false;
		}
	}
	return true;
}

void choices_traffic(char text[CHOICES_TEXT_MAX], uint64_t zipf)
{
	if (zipf == BENCH_ZIPF_RANDOM)
		snprintf(text, CHOICES_TEXT_MAX, "random");
	else if (zipf == 0)
		snprintf(text, CHOICES_TEXT_MAX, "uniform");
	else
		snprintf(text, CHOICES_TEXT_MAX, "zipf=%.7g", (double)zipf / 1e6);
}

struct source *setup_source(uint64_t zipf, uint64_t flows)
{
	char error[SOURCE_ERROR_MAX];
	struct synthetic_spec spec;
	struct source *source;

	synthetic_parse("", &spec, error);
	spec.packets = 0;
	spec.random = zipf == BENCH_ZIPF_RANDOM;
	if (!spec.random) {
		spec.zipf_e6 = (uint32_t)zipf;
		spec.flows = flows;
	}
	source = generate_open(&spec, error);
	if (source == NULL)
		log_error("%s", error);
	return source;
}

bool workload_generate(const struct workload_spec *spec, struct key4 *keys)
{
	struct synthetic_spec synthetic;
	struct source_packet packet;
	char error[SOURCE_ERROR_MAX];
	struct source *source;
	uint64_t n = 0;

	synthetic_parse("", &synthetic, error);
	synthetic.flows = spec->flows;
	synthetic.random = spec->random;
	synthetic.zipf_e6 = spec->zipf_e6;
	synthetic.packets = spec->packets;
	synthetic.seed = spec->seed;
	source = generate_open(&synthetic, error);
	if (source == NULL)
		return false;
	while (n < spec->packets && source->next(source, &packet) > 0) {
		struct parsed parsed;

		parse_packet(packet.data, packet.captured, packet.link, &parsed);
		keys[n++] = parsed.key4;
	}
	source->close(source);
	return true;
}

struct workload *workload_create_from(
	const struct workload_spec *spec, workload_keys_fn draw, uint64_t hash_seed)
{
	struct workload *workload = workload_allocate(spec->packets, hash_seed);

	VERIFY(spec->packets % BURST_MAX, ==, 0u);
	if (workload == NULL)
		return NULL;
	workload->spec = *spec;
	if (!draw(spec, workload->keys)) {
		workload_destroy(workload);
		return NULL;
	}
	workload_find_truth(workload);
	return workload;
}

bool workload_add_flow_hashes(struct workload *workload)
{
	struct sketch_allocator memory = node_memory_on_node(PLAN_NODE_ANY);
	struct parsed parsed = {0};

	workload->flow_hashes =
		memory.alloc(workload->room * sizeof(workload->flow_hashes[0]), memory.arg);
	if (workload->flow_hashes == NULL)
		return false;
	for (uint64_t i = 0; i < workload->spec.packets; i++) {
		parsed.key4 = workload->keys[i];
		workload->flow_hashes[i] = rss_hash(PARSE_IPV4, &parsed);
	}
	return true;
}

bool setup_plan(struct plan *plan, const struct config *config, const struct bench_subject *subject,
	const struct topology *topology, char *error)
{
	struct plan_ports ports = {0};

	if (!plan_make(plan, config, topology, &ports, error))
		return false;
	/* the variants of benches are not in sketches[] */
	plan->measurements[0].ops = subject->sketch;
	return true;
}

struct bench_stats bench_stats_ratio(const double *values, const double *others, uint32_t n)
{
	double ratios[BENCH_ROUNDS_MAX];

	VERIFY(n, <=, (uint32_t)BENCH_ROUNDS_MAX);
	for (uint32_t i = 0; i < n; i++)
		ratios[i] = others[i] > 0 ? values[i] / others[i] : 0;
	return bench_stats_of(ratios, n);
}

struct bench_stats bench_stats_difference(const double *values, const double *others, uint32_t n)
{
	double differences[BENCH_ROUNDS_MAX];

	VERIFY(n, <=, (uint32_t)BENCH_ROUNDS_MAX);
	for (uint32_t i = 0; i < n; i++)
		differences[i] = values[i] - others[i];
	return bench_stats_of(differences, n);
}
