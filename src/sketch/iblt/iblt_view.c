/* SPDX-License-Identifier: BSD-3-Clause */
#include "sketch/iblt/iblt_view.h"

#include <stdlib.h>

#include "sketch/iblt/iblt.h"

struct iblt_view {
	struct iblt table;
	struct iblt_result result;
};

uint32_t iblt_view_filter_bits(uint32_t bits)
{
	return iblt_filter_bits(IBLT_VIEW_DEPTH, bits);
}

struct iblt_view *iblt_view_create(uint32_t bits, iblt_hash_fn hash, const void *arg)
{
	struct iblt_view *view = calloc(1, sizeof(*view));
	size_t cells = (size_t)IBLT_VIEW_DEPTH << bits;
	struct iblt *table = &view->table;

	if (view == NULL)
		return NULL;
	table->sketch.params = (struct sketch_params){
		.depth = IBLT_VIEW_DEPTH, .allocator = sketch_allocator_malloc};
	table->rows[0] = (struct iblt_rows){.family = KEY_IPV4,
		.depth = IBLT_VIEW_DEPTH,
		.bits = bits,
		.shift = IBLT_SHIFT4,
		.lanes = IBLT_LANES4};
	table->rows[1] = (struct iblt_rows){.family = KEY_IPV6,
		.depth = IBLT_VIEW_DEPTH,
		.bits = bits - IBLT_LESS6,
		.shift = IBLT_SHIFT6,
		.lanes = IBLT_LANES6};
	table->filter_bits = iblt_view_filter_bits(bits);
	table->hash = hash;
	table->hash_arg = arg;
	table->result = &view->result;
	table->pivots = calloc(cells, sizeof(table->pivots[0]));
	table->is_pivot = calloc((cells + 63) / 64, sizeof(table->is_pivot[0]));
	table->suspected = calloc((cells + 63) / 64, sizeof(table->suspected[0]));
	if (table->pivots != NULL && table->is_pivot != NULL && table->suspected != NULL)
		return view;
	iblt_view_destroy(view);
	return NULL;
}

void iblt_view_destroy(struct iblt_view *view)
{
	if (view == NULL)
		return;
	free(view->table.pivots);
	free(view->table.is_pivot);
	free(view->table.suspected);
	free(view);
}

struct sketch_undecoded iblt_view_decode(
	struct iblt_view *view, const struct iblt_memory *memory, sketch_emit_fn emit, void *arg)
{
	struct iblt *table = &view->table;

	table->rows[0].cells = memory->cells4;
	table->rows[1].cells = memory->cells6;
	table->filter = memory->filter;
	atomic_store_explicit(&table->has_ipv6, memory->has_ipv6, memory_order_relaxed);
	iblt_decode(table, emit, arg);
	return view->result.undecoded;
}
