/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Each NAME.bpf.h defines
 *
 *     bool NAME_kernel_add(__u32 instance, const volatile __u32 *shape,
 *             const struct kernel_addition *addition)
 *
 * If it returns false, there is no room, and the program passes the packet to a worker.
 */

#include <linux/types.h>

#define KERNEL_SHAPE_MAX 2

#define KERNEL_INLINE static inline __attribute__((always_inline))

/* The process sets the size before it loads the program, and maps the array. */
#define KERNEL_ARRAY(name, bytes)                                                                  \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(key_size, sizeof(__u32));                                                   \
		__uint(value_size, bytes);                                                         \
		__uint(max_entries, 1);                                                            \
		__uint(map_flags, BPF_F_MMAPABLE);                                                 \
	} name SEC(".maps")

/* One packet of a flow, or several aggregated ones. */
struct kernel_addition {
	__u64 key[5]; /* two words for IPv4; unused bytes are 0 */
	__u64 lo, hi; /* hash; hi is used only by sketches */
	__u64 time;
	__u32 packets;
	__u64 bytes;
	__u8 version; /* 4: IPv4, 6: IPv6 */
	__u8 tcp_flags;
};
