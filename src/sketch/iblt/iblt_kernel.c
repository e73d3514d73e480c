/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "base/assertion.h"
#include "sketch/iblt/iblt.h"
#include "sketch/kernel_layout.h"

struct iblt_view {
	struct iblt table;
	struct iblt_result result;
	void *scratch;
};

static struct kernel_parts parts(uint32_t width)
{
	uint32_t bits = (uint32_t)__builtin_ctz(width);
	const struct iblt_rows rows4 = iblt_rows_of(KEY_IPV4, IBLT_KERNEL_ROWS, bits),
			       rows6 = iblt_rows_of(KEY_IPV6, IBLT_KERNEL_ROWS, bits);
	uint32_t filter_bits = iblt_filter_bits(IBLT_KERNEL_ROWS, bits);

	VERIFY(width & (width - 1), ==, 0);
	return (struct kernel_parts){
		.parts =
			{
				{"cells4", 1 << IBLT_SHIFT4, iblt_nb_cells(&rows4), false},
				{"cells6", 1 << IBLT_SHIFT6, iblt_nb_cells(&rows6), true},
				{"filters", sizeof(struct iblt_block), UINT64_C(1) << filter_bits,
					false},
			},
		.shape = {bits, filter_bits},
	};
}

static void destroy(void *reader)
{
	struct iblt_view *view = reader;

	if (view == NULL)
		return;
	free(view->scratch);
	free(view);
}

static void *create(uint32_t width, kernel_hash_fn hash, const void *arg)
{
	struct iblt_view *view = calloc(1, sizeof(*view));
	size_t cells = (size_t)IBLT_KERNEL_ROWS * width;
	uint32_t bits = (uint32_t)__builtin_ctz(width);
	struct iblt *table = &view->table;

	if (view == NULL)
		return NULL;
	table->sketch.params = (struct sketch_params){
		.depth = IBLT_KERNEL_ROWS, .allocator = sketch_allocator_malloc};
	table->rows[0] = iblt_rows_of(KEY_IPV4, IBLT_KERNEL_ROWS, bits);
	table->rows[1] = iblt_rows_of(KEY_IPV6, IBLT_KERNEL_ROWS, bits);
	table->filter_bits = iblt_filter_bits(IBLT_KERNEL_ROWS, bits);
	table->hash = hash;
	table->hash_arg = arg;
	table->result = &view->result;
	view->scratch = calloc(1, iblt_scratch_size(cells));
	table->scratch = iblt_scratch_of(view->scratch, cells);
	if (view->scratch != NULL)
		return view;
	destroy(view);
	return NULL;
}

static struct sketch_undecoded decode(void *reader, void *const memory[KERNEL_PARTS_MAX],
	bool has_ipv6, sketch_emit_fn emit, void *arg)
{
	struct iblt_view *view = reader;
	struct iblt *table = &view->table;

	table->rows[0].cells = memory[0];
	table->rows[1].cells = memory[1];
	table->filter = memory[2];
	atomic_store_explicit(&table->has_ipv6, has_ipv6, memory_order_relaxed);
	iblt_decode(table, emit, arg);
	return view->result.undecoded;
}

/* The default width needs 29 MB per CPU, for 68 000 IPv4 and 34 000 IPv6 flows. */
const struct kernel_layout iblt_kernel = {
	.rows = IBLT_KERNEL_ROWS,
	.default_width = 32768,
	.parts = parts,
	.create = create,
	.destroy = destroy,
	.decode = decode,
};
