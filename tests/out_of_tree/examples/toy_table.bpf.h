/* SPDX-License-Identifier: BSD-3-Clause */

/* The toy sketch in the eBPF program: one key per cell. shape: cells, a power of two. */

#include "sketch/kernel_addition.h"

struct toy_cell {
	__u64 key[5];
	__u64 version;
	__u64 packets, bytes;
};

KERNEL_ARRAY(toy_cells, sizeof(struct toy_cell));

KERNEL_INLINE bool toy_table_kernel_add(
	__u32 instance, const volatile __u32 *shape, const struct kernel_addition *addition)
{
	__u32 index = instance * shape[0] + ((__u32)addition->lo & (shape[0] - 1));
	struct toy_cell *cell = bpf_map_lookup_elem(&toy_cells, &index);
	__u64 other = 0;

	if (cell == NULL)
		return false;
	if (cell->packets == 0) {
		for (__u32 i = 0; i < 5; i++)
			cell->key[i] = addition->key[i];
		cell->version = addition->version;
	}
	for (__u32 i = 0; i < 5; i++)
		other |= cell->key[i] ^ addition->key[i];
	if (other != 0 || cell->version != addition->version)
		return false;
	cell->packets += addition->packets;
	cell->bytes += addition->bytes;
	return true;
}
