/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Structures of DPDK for the same purpose. rte_member is the sketch of librte_member in packet mode
 * (Count-Min with a heap of top keys); its byte mode updates the heap for one packet in a hundred.
 * rte_hash is an exact cuckoo table with a counter for each key.
 */

#include <stdio.h>
#include <stdlib.h>

#define ALLOW_EXPERIMENTAL_API

#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_lcore.h>
#include <rte_member.h>
#include <rte_vect.h>

#include "bench/rivals.h"
#include "parallel/plan/plan.h"
#include "parallel/workers/node_memory.h"

#define MEMBER_SAMPLE_BYTES 0.01f

static void make_name(char *name, size_t size, const char *kind)
{
	static unsigned int serial;

	snprintf(name, size, "%s%u", kind, serial++);
}

/* columns: counters per row. librte_member allocates 4 / error_rate counters. */
static struct rte_member_setsum *create_member(
	const struct bench_rounds *setup, double columns, uint32_t flags, float sample_rate)
{
	char name[RTE_MEMBER_NAMESIZE];
	struct rte_member_parameters params = {
		.name = name,
		.type = RTE_MEMBER_TYPE_SKETCH,
		.key_len = sizeof(struct key4),
		.prim_hash_seed = (uint32_t)setup->seed,
		.sec_hash_seed = (uint32_t)setup->seed + 1,
		.error_rate = (float)(4 / columns),
		.sample_rate = sample_rate,
		.top_k = WORKLOAD_TOP,
		.extra_flag = flags,
		.socket_id = SOCKET_ID_ANY,
	};

	make_name(name, sizeof(name), "member");
	return rte_member_create(&params);
}

/*
 * In packet mode, rows differ only in the initial value of one CRC. CRC is linear, so the indices
 * of two rows differ by a constant XOR: with a power of two of columns, keys that collide in one
 * row collide in all rows. So the number is slightly below a power of two.
 */
static void *member_open(const struct bench_subject *subject, const struct bench_rounds *setup)
{
	return create_member(
		setup, (double)bench_subject_width(subject, setup) * 63 / 64 - 1, 0, 1);
}

static void *member_bytes_open(
	const struct bench_subject *subject, const struct bench_rounds *setup)
{
	(void)subject;
	return create_member(
		setup, (double)setup->width, RTE_MEMBER_SKETCH_COUNT_BYTE, MEMBER_SAMPLE_BYTES);
}

static void member_feed(void *state, uint32_t thread, const struct key_burst *burst)
{
	(void)thread;
	for (uint32_t i = 0; i < burst->n; i++)
		rte_member_add(state, &burst->key4[i], 1);
}

static void member_bytes_feed(void *state, uint32_t thread, const struct key_burst *burst)
{
	(void)thread;
	for (uint32_t i = 0; i < burst->n; i++)
		rte_member_add_byte_count(state, &burst->key4[i], burst->wire_len[i]);
}

static size_t member_memory(const void *state)
{
	const struct rte_member_setsum *member = state;

	return (size_t)member->num_row * member->num_col * sizeof(uint64_t);
}

/* Every row counts every packet, so the sums of the rows are averaged. */
static uint64_t member_sum(const struct rte_member_setsum *member)
{
	const uint64_t *counters = member->table;
	uint64_t sum = 0;

	for (size_t i = 0; i < (size_t)member->num_row * member->num_col; i++)
		sum += counters[i];
	return sum / member->num_row;
}

static bool member_total(const void *state, uint64_t *total)
{
	*total = member_sum(state);
	return true;
}

static bool member_bytes_total(const void *state, uint64_t *total)
{
	*total = member_sum(state) / WORKLOAD_WIRE_LEN;
	return true;
}

static uint32_t member_report(
	const struct rte_member_setsum *member, struct bench_subject_flow *flows, uint64_t unit)
{
	void *keys[WORKLOAD_TOP];
	uint64_t counts[WORKLOAD_TOP];
	int n = rte_member_report_heavyhitter(member, keys, counts);

	for (int i = 0; i < n; i++) {
		memcpy(&flows[i].key, keys[i], sizeof(flows[i].key));
		flows[i].packets = counts[i] / unit;
	}
	return n < 0 ? 0 : (uint32_t)n;
}

static uint32_t member_top(void *state, const struct workload *workload,
	struct bench_subject_flow *flows, uint32_t wanted)
{
	(void)workload;
	(void)wanted;
	return member_report(state, flows, 1);
}

static uint32_t member_bytes_top(void *state, const struct workload *workload,
	struct bench_subject_flow *flows, uint32_t wanted)
{
	(void)workload;
	(void)wanted;
	return member_report(state, flows, WORKLOAD_WIRE_LEN);
}

static void member_close(void *state)
{
	rte_member_free(state);
}

const struct bench_subject_ops bench_subject_member = {
	.open = member_open,
	.feed = member_feed,
	.memory = member_memory,
	.total = member_total,
	.top = member_top,
	.top_most = WORKLOAD_TOP,
	.close = member_close,
};

const struct bench_subject_ops bench_subject_member_bytes = {
	.open = member_bytes_open,
	.feed = member_bytes_feed,
	.memory = member_memory,
	.total = member_bytes_total,
	.top = member_bytes_top,
	.top_most = WORKLOAD_TOP,
	.close = member_close,
};

struct exact {
	struct rte_hash *table;
	uint64_t *counts; /* indexed by the position of the key in the table */
	size_t nb_counts;
	uint64_t no_room; /* packets whose keys did not fit */
};

static void exact_close(void *state)
{
	struct sketch_allocator memory = node_memory_on_node(PLAN_NODE_ANY);
	struct exact *exact = state;

	rte_hash_free(exact->table);
	if (exact->counts != NULL)
		memory.free(exact->counts, exact->nb_counts * sizeof(uint64_t), memory.arg);
	free(exact);
}

/* Adds an eighth, because cuckoo tables do not fill completely. */
static uint64_t exact_entries(uint64_t keys)
{
	return keys + keys / 8 + 1024;
}

static void *exact_open(const struct bench_subject *subject, const struct bench_rounds *setup)
{
	struct sketch_allocator memory = node_memory_on_node(PLAN_NODE_ANY);
	char name[RTE_HASH_NAMESIZE];
	struct rte_hash_parameters params = {
		.name = name,
		.entries = (uint32_t)exact_entries(setup->workload->distinct),
		.key_len = sizeof(struct key4),
		.hash_func = rte_hash_crc,
		.hash_func_init_val = (uint32_t)setup->seed,
		.socket_id = (int)rte_socket_id(),
	};
	struct exact *exact = calloc(1, sizeof(*exact));

	(void)subject;
	if (exact == NULL)
		return NULL;
	make_name(name, sizeof(name), "exact");
	exact->table = rte_hash_create(&params);
	if (exact->table != NULL) {
		exact->nb_counts = (size_t)rte_hash_max_key_id(exact->table) + 1;
		exact->counts = memory.alloc(exact->nb_counts * sizeof(uint64_t), memory.arg);
	}
	if (exact->counts == NULL) {
		exact_close(exact);
		return NULL;
	}
	return exact;
}

static void exact_feed(void *state, uint32_t thread, const struct key_burst *burst)
{
	struct exact *exact = state;
	const void *keys[BURST_MAX];
	int32_t positions[BURST_MAX];

	(void)thread;
	for (uint32_t i = 0; i < burst->n; i++)
		keys[i] = &burst->key4[i];
	rte_hash_lookup_bulk(exact->table, keys, burst->n, positions);
	for (uint32_t i = 0; i < burst->n; i++) {
		if (positions[i] < 0)
			positions[i] = rte_hash_add_key(exact->table, keys[i]);
		if (positions[i] < 0)
			exact->no_room++;
		else
			exact->counts[positions[i]]++;
	}
}

static size_t exact_memory(const void *state)
{
	const struct exact *exact = state;

	/* A key takes a slot of 32 bytes, an eighth of a bucket of 64 bytes, and the count. */
	return exact->nb_counts * (32 + 64 / 8 + sizeof(uint64_t));
}

static bool exact_total(const void *state, uint64_t *total)
{
	const struct exact *exact = state;

	*total = exact->no_room;
	for (size_t i = 0; i < exact->nb_counts; i++)
		*total += exact->counts[i];
	return true;
}

static uint64_t exact_no_room(const void *state)
{
	return ((const struct exact *)state)->no_room;
}

/* The table has all keys, so the true top keys are exact. */
static uint32_t exact_top(void *state, const struct workload *workload,
	struct bench_subject_flow *flows, uint32_t wanted)
{
	const struct exact *exact = state;
	uint32_t n = 0;

	for (uint32_t i = 0; i < workload->nb_top && i < wanted; i++) {
		const struct key4 *key = &workload->keys[workload->top[i].first - 1];
		int32_t position = rte_hash_lookup(exact->table, key);

		if (position >= 0)
			flows[n++] = (struct bench_subject_flow){*key, exact->counts[position]};
	}
	return n;
}

const struct bench_subject_ops bench_subject_rte_hash = {
	.open = exact_open,
	.feed = exact_feed,
	.memory = exact_memory,
	.total = exact_total,
	.no_room = exact_no_room,
	.top = exact_top,
	.close = exact_close,
};

void rivals_init(void)
{
	/*
	 * EAL allows 256 bits by default. If --eal sets the width, this call fails and --eal takes
	 * precedence.
	 */
	rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_512);
}

size_t rivals_heap_megabytes(uint64_t width, uint64_t packets)
{
	/*
	 * With AVX-512, the sketch has eight rows of 64-bit counters. A key of the hash table needs
	 * at most 128 bytes.
	 */
	uint64_t member = width * 8 * sizeof(uint64_t), exact = exact_entries(packets) * 128;

	return (size_t)((member > exact ? member : exact) >> 20) + 64;
}
