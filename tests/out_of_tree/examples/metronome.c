/* SPDX-License-Identifier: BSD-3-Clause */

/* The toy: a live source of keys. Beat i has i packets of 100 bytes, with source port i. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>

#include "parallel/plan/design.h"
#include "parallel/plan/plan.h"
#include "parallel/sources/sources.h"
#include "parallel/workers/worker.h"

struct metronome_options {
	uint32_t beats;
};

OPTION_OWNER(metronome)

struct metronome {
	uint32_t beat, beats;
	_Atomic uint64_t received;
};

static void beat(struct worker *worker, uint32_t i)
{
	struct metronome *metronome = worker->source;
	struct generation *generation = worker_generation(worker, worker->epoch);
	struct key_burst *burst = &generation->counting->bursts[0];
	const uint16_t port = rte_cpu_to_be_16((uint16_t)i);
	const uint32_t address = rte_cpu_to_be_32(0x0a000001);

	burst->n = 1;
	burst->v6 = 0;
	burst->key4[0] = (struct key4){.proto = 17};
	memcpy(burst->key4[0].src_ip, &address, sizeof(address));
	memcpy(burst->key4[0].src_port, &port, sizeof(port));
	burst->weights->packets[0] = i;
	burst->weights->bytes[0] = 100 * i;
	count_weighted_keys(generation->counting, generation->sketch, generation->distinct);
	count_waiting_keys(generation->counting, generation->sketch, generation->distinct);
	generation->received += i;
	generation->counted += i;
	generation->measured += i;
	generation->counts.verdicts[PARSE_IPV4] += i;
	generation->counts.bytes += 100 * i;
	generation->counts.largest_frame = generation->counts.smallest_frame = 100;
	atomic_fetch_add_explicit(&metronome->received, i, memory_order_relaxed);
}

static void work(struct worker *worker, uint32_t nb_workers)
{
	struct metronome *metronome = worker->source;

	(void)nb_workers;
	for (;;) {
		uint64_t open = atomic_load_explicit(&worker->epochs->open, memory_order_acquire);
		bool ended = epochs_is_end(worker->epochs, open);

		if (!ended && open > worker->epoch)
			worker_enter_epoch(worker, open);
		if (metronome->beat < metronome->beats) {
			beat(worker, ++metronome->beat);
		} else if (ended) {
			worker_leave(worker, open);
			return;
		} else {
			worker_rest(worker);
		}
	}
}

static const struct design_ops design_metronome = {
	.name = "rss", .suits = "one core beats", .work = work, .done = worker_free};

static void describe(
	const struct plan *plan, const struct plan_lcore *lcore, char *text, size_t size)
{
	snprintf(text, size, "beats, updates sketch %u", plan_instance(plan, lcore->worker));
}

static void plan(const struct config *config, struct plan_source *source)
{
	(void)config;
	*source = (struct plan_source){
		.design = &design_metronome,
		.workers = 1,
		.inputs = 1,
		.weights = true,
		.describe = describe,
		.queues = "a metronome",
		.no_packets = "beats have none",
	};
}

static void *create(const struct source_params *params, char *error)
{
	struct metronome *metronome = calloc(1, sizeof(*metronome));

	if (metronome == NULL) {
		source_error(error, "--metronome: out of memory");
		return NULL;
	}
	metronome->beats = metronome_options(params->config)->beats;
	params->workers[0]->source = metronome;
	return metronome;
}

static uint64_t received(const void *source)
{
	const struct metronome *metronome = source;

	return atomic_load_explicit(&metronome->received, memory_order_relaxed);
}

static const struct source_ops metronome_ops = {
	.create = create,
	.destroy = free,
	.received = received,
};

extern const struct source_traits source_metronome;

static const struct option_row metronome_rows[] = {
	{
		.name = "metronome",
		.placeholder = "N",
		.type = OPTION_COUNT,
		SOURCE_OPTION(source_metronome),
		OPTION_FIELD(metronome_options, beats),
		.min = 1,
		.max = 1000,
		.help = "The toy: N beats, the first of 1 packet, the last of N.",
	},
	{0},
};

const struct option_owner metronome_owner = {
	.rows = metronome_rows,
	.size = sizeof(struct metronome_options),
};

const struct source_traits source_metronome = {
	.selected.is = SOURCE_OF_ITSELF | SOURCE_KEYS,
	.options = &metronome_owner,
	.pacer = "the metronome sets the pace",
	.no_packets = "needs packets, and --metronome passes only keys; omit it",
	.plan = plan,
	.ops = &metronome_ops,
};
