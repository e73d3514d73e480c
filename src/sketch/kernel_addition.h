/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What the eBPF program passes to a sketch that it updates (sketch/kernel_layout.h). Each NAME.bpf.h
 * defines
 *
 *     bool NAME_kernel_add(__u32 instance, const volatile __u32 *shape,
 *             const struct kernel_addition *addition)
 *
 * for the instance of this CPU and generation. It returns false if there is no room; the packet then
 * goes to a worker.
 */

#include <linux/types.h>

#define KERNEL_SHAPE_MAX 2

#define KERNEL_INLINE static inline __attribute__((always_inline))

/* Contribution of a packet, or of joined ones, to its flow */
struct kernel_addition {
	__u64 key[5]; /* two words for IPv4; unused bytes are 0 */
	__u64 lo, hi; /* hash; hi only for sketches */
	__u64 time;
	__u32 packets;
	__u64 bytes;
	__u8 version; /* 4: IPv4, 6: IPv6 */
	__u8 tcp_flags;
};
