/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune/measure/workload.h"

#include <stdlib.h>

#include "base/assertion.h"
#include "base/signals.h"
#include "parallel/workers/node_memory.h"
#include "parallel/plan/plan.h"
#include "rx/packet/parse.h"
#include "base/random.h"
#include "rx/source.h"

static size_t keys_size(const struct workload *workload)
{
	return workload->room * sizeof(workload->keys[0]);
}

static size_t flow_hashes_size(const struct workload *workload)
{
	return workload->room * sizeof(workload->flow_hashes[0]);
}

static size_t slots_size(const struct workload *workload)
{
	return sizeof(workload->slots[0]) << workload->bits;
}

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

#define LOOK_EACH 4096

static bool is_ended(uint64_t step)
{
	return step % LOOK_EACH == 0 && signals_stop_requested();
}

static void count_keys(struct workload *workload)
{
	for (uint64_t i = 0; i < workload->spec.packets && !is_ended(i); i++) {
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

/* top[] is sorted by packets, descending, and then by first packet. */
static void submit_top(struct workload *workload, const struct workload_flow *flow)
{
	uint32_t at = workload->nb_top;

	if (at == WORKLOAD_TOP_MOST && !is_heavier(flow, &workload->top[at - 1]))
		return;
	if (at < WORKLOAD_TOP_MOST)
		workload->nb_top++;
	else
		at--;
	for (; at > 0 && is_heavier(flow, &workload->top[at - 1]); at--)
		workload->top[at] = workload->top[at - 1];
	ASSERT(workload->nb_top, <=, (uint32_t)WORKLOAD_TOP_MOST);
	workload->top[at] = *flow;
}

static void count_distinct(struct workload *workload)
{
	struct key_burst burst;

	workload_burst_init(&burst);
	for (uint64_t b = 0; b < workload_bursts(workload) && !is_ended(b); b++) {
		workload_load(workload, b, &burst);
		hash_burst(&workload->hash_key, &burst);
		hyperloglog_update(&workload->distinct_keys, &burst);
	}
}

struct workload *workload_allocate(uint64_t packets, uint64_t hash_seed)
{
	struct sketch_allocator memory = node_memory_on_node(PLAN_NODE_ANY);
	struct workload *workload = aligned_alloc(64, (sizeof(*workload) + 63) / 64 * 64);

	VERIFY(packets, <=, WORKLOAD_PACKETS_MAX);
	if (workload == NULL)
		return NULL;
	memset(workload, 0, sizeof(*workload));
	workload->room = packets;
	while (UINT64_C(1) << workload->bits < packets * 3 / 2)
		workload->bits++;
	hash_key_init(&workload->hash_key, hash_seed);
	workload->keys = memory.alloc(keys_size(workload), memory.arg);
	workload->slots = memory.alloc(slots_size(workload), memory.arg);
	if (workload->keys != NULL && workload->slots != NULL)
		return workload;
	workload_destroy(workload);
	return NULL;
}

void workload_find_truth(struct workload *workload)
{
	count_keys(workload);
	for (uint64_t i = 0; i >> workload->bits == 0 && !is_ended(i); i++)
		if (workload->slots[i].first != 0)
			submit_top(workload, &workload->slots[i]);
	count_distinct(workload);
}

static void stand_for_address(uint8_t to[4], const uint8_t from[16])
{
	uint64_t words[2];
	uint32_t folded;

	memcpy(words, from, sizeof(words));
	folded = (uint32_t)random_mix(words[0] + random_mix(words[1]));
	memcpy(to, &folded, sizeof(folded));
}

static struct key4 stand_for(const struct key6 *key)
{
	struct key4 other = {.proto = key->proto};

	stand_for_address(other.src_ip, key->src_ip);
	stand_for_address(other.dst_ip, key->dst_ip);
	memcpy(other.src_port, key->src_port, sizeof(other.src_port));
	memcpy(other.dst_port, key->dst_port, sizeof(other.dst_port));
	return other;
}

static uint64_t take_keys(struct workload *workload, struct source *source, uint64_t packets,
	struct workload_intake *intake, char *error)
{
	struct source_packet packet;
	uint64_t n = 0;
	int more = 0;

	for (uint64_t i = 0;
		n < packets && !is_ended(i) && (more = source->next(source, &packet)) > 0; i++) {
		struct parsed parsed;

		source_take(&packet);
		switch (parse_captured(
			packet.data, packet.captured, packet.wire_len, packet.link, &parsed)) {
		case PARSE_IPV4:
			workload->keys[n++] = parsed.key4;
			intake->ipv4++;
			break;
		case PARSE_IPV6:
			workload->keys[n++] = stand_for(&parsed.key6);
			intake->ipv6++;
			break;
		default: intake->others++;
		}
	}
	if (signals_stop_requested()) {
		source_error(error, "stopped before all packets were read");
		return 0;
	}
	if (more < 0) {
		source_error(error, "%s", source->error);
		return 0;
	}
	if (n == 0)
		source_error(error, "none of %llu packets has a key; give traffic with IP packets",
			(unsigned long long)intake->others);
	return n;
}

struct workload *workload_read(struct source *source, uint64_t packets, uint64_t hash_seed,
	struct workload_intake *intake, char *error)
{
	uint64_t room = workload_packets(packets), n;
	struct workload *workload = workload_allocate(room, hash_seed);

	*intake = (struct workload_intake){0};
	if (workload == NULL) {
		source_error(error, "out of memory for %llu packets; lower --packets",
			(unsigned long long)packets);
		return NULL;
	}
	n = take_keys(workload, source, packets, intake, error);
	if (n == 0) {
		workload_destroy(workload);
		return NULL;
	}
	workload->spec.packets = n;
	workload_find_truth(workload);
	return workload;
}

void workload_destroy(struct workload *workload)
{
	struct sketch_allocator memory = node_memory_on_node(PLAN_NODE_ANY);

	if (workload->keys != NULL)
		memory.free(workload->keys, keys_size(workload), memory.arg);
	if (workload->slots != NULL)
		memory.free(workload->slots, slots_size(workload), memory.arg);
	if (workload->flow_hashes != NULL)
		memory.free(workload->flow_hashes, flow_hashes_size(workload), memory.arg);
	free(workload);
}
