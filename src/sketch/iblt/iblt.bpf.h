/* SPDX-License-Identifier: BSD-3-Clause */

/* shape[0] is log2 of the IPv4 cells per row, shape[1] log2 of the blocks per filter. */

#include "sketch/iblt/iblt_layout.h"
#include "sketch/kernel_addition.h"

KERNEL_ARRAY(cells4, 1 << IBLT_SHIFT4);
KERNEL_ARRAY(cells6, 1 << IBLT_SHIFT6);
KERNEL_ARRAY(filters, IBLT_FILTER_WORDS * sizeof(__u64));

/* The verifier requires the check, although all cells exist. */
KERNEL_INLINE bool iblt_find_cells(
	void *map, __u32 instance, __u32 bits, __u64 lo, __u64 hi, struct iblt_sums **cells)
{
#pragma unroll
	for (__u32 row = 0; row < IBLT_KERNEL_ROWS; row++) {
		__u32 index = ((instance * IBLT_KERNEL_ROWS + row) << bits) +
			      (iblt_lane_of(lo, hi, row) & ((1u << bits) - 1));

		cells[row] = bpf_map_lookup_elem(map, &index);
		if (cells[row] == NULL)
			return false;
	}
	return true;
}

/* Returns true if the flow is new: one of its bits was not set. */
KERNEL_INLINE bool iblt_filter_adds(__u64 *block, __u64 lo, __u64 hi)
{
	__u64 known = 1;

#pragma unroll
	for (__u32 word = 0; word < IBLT_FILTER_WORDS; word++)
		known &= block[word] >> iblt_filter_bit_of(lo, hi, word);
	if ((known & 1) != 0)
		return false;
#pragma unroll
	for (__u32 word = 0; word < IBLT_FILTER_WORDS; word++)
		block[word] |= 1ull << iblt_filter_bit_of(lo, hi, word);
	return true;
}

KERNEL_INLINE bool iblt_add_to_cells(void *map, __u32 instance, __u32 bits, __u32 filter_bits,
	const struct kernel_addition *addition, const __u32 words)
{
	__u64 lo = addition->lo, hi = addition->hi;
	__u32 block = (instance << filter_bits) + (__u32)iblt_block_of(lo, hi, filter_bits);
	struct iblt_sums *cells[IBLT_KERNEL_ROWS];
	__u64 *filter = bpf_map_lookup_elem(&filters, &block);

	if (filter == NULL || !iblt_find_cells(map, instance, bits, lo, hi, cells))
		return false;
#pragma unroll
	for (__u32 row = 0; row < IBLT_KERNEL_ROWS; row++) {
		cells[row]->packets += addition->packets;
		cells[row]->bytes += addition->bytes;
	}
	if (!iblt_filter_adds(filter, lo, hi))
		return true;
#pragma unroll
	for (__u32 row = 0; row < IBLT_KERNEL_ROWS; row++) {
		cells[row]->flows++;
		cells[row]->check += iblt_check_of(lo, hi);
#pragma unroll
		for (__u32 word = 0; word < words; word++) {
			cells[row]->lanes[2 * word] += (__u32)addition->key[word];
			cells[row]->lanes[2 * word + 1] += addition->key[word] >> 32;
		}
	}
	return true;
}

KERNEL_INLINE bool iblt_kernel_add(
	__u32 instance, const volatile __u32 *shape, const struct kernel_addition *addition)
{
	if (addition->version == 6)
		return iblt_add_to_cells(
			&cells6, instance, shape[0] - IBLT_LESS6, shape[1], addition, 5);
	return iblt_add_to_cells(&cells4, instance, shape[0], shape[1], addition, 2);
}
