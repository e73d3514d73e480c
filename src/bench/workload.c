/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/workload.h"

#include <stdlib.h>

#include "parallel/memory.h"
#include "parallel/plan.h"
#include "rx/parse.h"
#include "rx/random.h"
#include "rx/source.h"
#include "rx/synthetic.h"

static size_t keys_size(const struct workload *workload)
{
	return workload->spec.packets * sizeof(workload->keys[0]);
}

static size_t slots_size(const struct workload *workload)
{
	return sizeof(workload->slots[0]) << workload->bits;
}

/* The slot of a key, or the free one where it belongs. */
static struct workload_flow *find_slot(const struct workload *workload, const struct key4 *key)
{
	uint64_t mask = (UINT64_C(1) << workload->bits) - 1, words[2], at;

	memcpy(words, key, sizeof(words));
	at = random_mix(words[0] + random_mix(words[1])) & mask;
	while (workload->slots[at].first != 0 &&
		memcmp(&workload->keys[workload->slots[at].first - 1], key, sizeof(*key)) != 0)
		at = (at + 1) & mask;
	return &workload->slots[at];
}

uint64_t workload_truth(const struct workload *workload, const struct key4 *key)
{
	return find_slot(workload, key)->packets;
}

/* The generator's packets, parsed as a worker would. */
static bool draw_keys(struct workload *workload)
{
	const struct workload_spec *spec = &workload->spec;
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
		workload->keys[n++] = parsed.key4;
	}
	source->close(source);
	return true;
}

static void count_keys(struct workload *workload)
{
	for (uint64_t i = 0; i < workload->spec.packets; i++) {
		struct workload_flow *flow = find_slot(workload, &workload->keys[i]);

		if (flow->first == 0) {
			flow->first = (uint32_t)(i + 1);
			workload->distinct++;
		}
		flow->packets++;
	}
}

static bool is_heavier(const struct workload_flow *a, const struct workload_flow *b)
{
	return a->packets != b->packets ? a->packets > b->packets : a->first < b->first;
}

/* Keeps top[] sorted: downwards by packets; of equals, who came first. */
static void offer_top(struct workload *workload, const struct workload_flow *flow)
{
	uint32_t at = workload->nb_top;

	if (at == WORKLOAD_TOP && !is_heavier(flow, &workload->top[at - 1]))
		return;
	if (at < WORKLOAD_TOP)
		workload->nb_top++;
	else
		at--;
	for (; at > 0 && is_heavier(flow, &workload->top[at - 1]); at--)
		workload->top[at] = workload->top[at - 1];
	workload->top[at] = *flow;
}

static void count_distinct(struct workload *workload)
{
	struct key_burst burst;

	workload_burst_init(&burst);
	for (uint64_t b = 0; b < workload_bursts(workload); b++) {
		workload_load(workload, b, &burst);
		hash_burst(&workload->hash_key, &burst);
		hyperloglog_update(&workload->distinct_keys, &burst);
	}
}

struct workload *workload_create(const struct workload_spec *spec, uint64_t hash_seed)
{
	struct sketch_allocator memory = memory_on_node(PLAN_NODE_ANY);
	struct workload *workload = aligned_alloc(64, (sizeof(*workload) + 63) / 64 * 64);

	if (workload == NULL)
		return NULL;
	memset(workload, 0, sizeof(*workload));
	workload->spec = *spec;
	while (UINT64_C(1) << workload->bits < spec->packets * 3 / 2)
		workload->bits++;
	hash_key_init(&workload->hash_key, hash_seed);
	workload->keys = memory.alloc(keys_size(workload), memory.arg);
	workload->slots = memory.alloc(slots_size(workload), memory.arg);
	if (workload->keys == NULL || workload->slots == NULL || !draw_keys(workload)) {
		workload_destroy(workload);
		return NULL;
	}
	count_keys(workload);
	for (uint64_t i = 0; i >> workload->bits == 0; i++)
		if (workload->slots[i].first != 0)
			offer_top(workload, &workload->slots[i]);
	count_distinct(workload);
	return workload;
}

void workload_destroy(struct workload *workload)
{
	struct sketch_allocator memory = memory_on_node(PLAN_NODE_ANY);

	if (workload->keys != NULL)
		memory.free(workload->keys, keys_size(workload), memory.arg);
	if (workload->slots != NULL)
		memory.free(workload->slots, slots_size(workload), memory.arg);
	free(workload);
}
