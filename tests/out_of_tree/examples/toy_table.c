/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A toy sketch: stores every key exactly in a table with open addressing, until it is full. One
 * thread. The eBPF program fills another table (toy_table.bpf.h).
 */

#include <stdlib.h>
#include <string.h>

#include "sketch/kernel_layout.h"
#include "sketch/implement.h"
#include "sketch/sketch.h"

extern const struct sketch_ops toy_table_ops;

struct toy {
	struct sketch sketch;
	uint64_t used;
	struct sketch_shed shed;
	struct sketch_candidate entries[]; /* [width]; a free entry has 0 packets */
};

static const char *check(struct sketch_params *params)
{
	if (params->depth == 0)
		params->depth = 1;
	if (params->width == 0)
		params->width = 65536;
	params->candidates = 0;
	if (params->depth != 1 || (params->width & (params->width - 1)) != 0)
		return "depth is 1, width a power of two";
	return NULL;
}

static size_t memory(const struct sketch_params *params)
{
	return sizeof(struct toy) + params->width * sizeof(struct sketch_candidate);
}

static struct sketch *create(const struct sketch_params *params)
{
	struct toy *toy = params->allocator.alloc(memory(params), params->allocator.arg);

	if (toy == NULL)
		return NULL;
	toy->sketch.ops = &toy_table_ops;
	toy->sketch.params = *params;
	return &toy->sketch;
}

static void reset(struct sketch *sketch)
{
	struct toy *toy = (struct toy *)sketch;

	memset(toy->entries, 0, sketch->params.width * sizeof(toy->entries[0]));
	toy->used = 0;
	toy->shed = (struct sketch_shed){0};
}

/* Returns the entry of the key, or a free one. */
static struct sketch_candidate *find(
	struct toy *toy, const struct key *key, const struct key_hash *hash)
{
	uint64_t mask = toy->sketch.params.width - 1, at = hash->lo & mask;

	while (toy->entries[at].packets > 0 && !key_equal(&toy->entries[at].key, key))
		at = (at + 1) & mask;
	return &toy->entries[at];
}

static void count(struct toy *toy, const struct key_burst *burst, uint32_t i, uint64_t packets,
	uint64_t bytes)
{
	struct key key = key_burst_get(burst, i);
	struct sketch_candidate *entry = find(toy, &key, &burst->hash[i]);

	if (entry->packets == 0 && toy->used == toy->sketch.params.width - 1) {
		toy->shed.packets += packets;
		toy->shed.bytes += bytes;
		return;
	}
	toy->used += entry->packets == 0;
	entry->key = key;
	entry->hash = burst->hash[i];
	entry->packets += packets;
	entry->bytes += bytes;
}

static void update(struct sketch *sketch, const struct key_burst *burst)
{
	for (uint32_t i = 0; i < burst->n; i++)
		count((struct toy *)sketch, burst, i, 1, burst->wire_len[i]);
}

static void update_weighted(struct sketch *sketch, const struct key_burst *burst)
{
	for (uint32_t i = 0; i < burst->n; i++)
		count((struct toy *)sketch, burst, i, burst->weights->packets[i],
			burst->weights->bytes[i]);
}

static void candidates(const struct sketch *sketch, sketch_emit_fn emit, void *arg)
{
	const struct toy *toy = (const struct toy *)sketch;

	for (uint64_t at = 0; at < sketch->params.width; at++)
		if (toy->entries[at].packets > 0)
			emit(&toy->entries[at], arg);
}

static struct sketch_shed shed(const struct sketch *sketch)
{
	return ((const struct toy *)sketch)->shed;
}

static bool lists_all_keys(const struct sketch *sketch)
{
	return shed(sketch).packets == 0;
}

static uint64_t missed(const struct sketch *sketch, const struct key_hash *hash)
{
	struct sketch_shed missed = shed(sketch);

	(void)hash;
	return sketch->params.metric == SKETCH_PACKETS ? missed.packets : missed.bytes;
}

/* As in toy_table.bpf.h */
struct toy_cell {
	uint64_t key[5];
	uint64_t version;
	uint64_t packets, bytes;
};

static struct kernel_parts parts(uint32_t width)
{
	return (struct kernel_parts){
		.parts = {{"toy_cells", sizeof(struct toy_cell), width, false}}, .shape = {width}};
}

static void *create_reader(uint32_t width, kernel_hash_fn hash, const void *arg)
{
	uint32_t *reader = malloc(sizeof(*reader));

	(void)hash;
	(void)arg;
	if (reader != NULL)
		*reader = width;
	return reader;
}

static struct sketch_undecoded decode(void *reader, void *const memory[KERNEL_PARTS_MAX],
	bool has_ipv6, sketch_emit_fn emit, void *arg)
{
	const struct toy_cell *cells = memory[0];

	(void)has_ipv6;
	for (uint32_t i = 0; i < *(const uint32_t *)reader; i++) {
		struct sketch_candidate flow = {
			.packets = cells[i].packets, .bytes = cells[i].bytes};

		if (cells[i].packets == 0)
			continue;
		flow.key.family = cells[i].version == 4 ? KEY_IPV4 : KEY_IPV6;
		if (flow.key.family == KEY_IPV4)
			memcpy(&flow.key.v4, cells[i].key, sizeof(flow.key.v4));
		else
			memcpy(&flow.key.v6, cells[i].key, sizeof(flow.key.v6));
		emit(&flow, arg);
	}
	return (struct sketch_undecoded){0};
}

static const struct kernel_layout toy_kernel = {
	.rows = 1,
	.default_width = 4096,
	.parts = parts,
	.create = create_reader,
	.destroy = free,
	.decode = decode,
};

const struct sketch_ops toy_table_ops = {
	.name = "toy-table",
	.alias = "toy",
	.suits = "a toy",
	.caps = SKETCH_EXACT,
	.default_depth = 1,
	.default_width = 65536,
	.kernel = &toy_kernel,
	.check = check,
	.memory = memory,
	.create = create,
	.destroy = one_block_destroy,
	.reset = reset,
	.update = {[SHARING_SEPARATE] = update},
	.update_weighted = {[SHARING_SEPARATE] = update_weighted},
	.candidates = candidates,
	.lists_all_keys = lists_all_keys,
	.missed = missed,
	.shed = shed,
};
