/* SPDX-License-Identifier: BSD-3-Clause */

/* Entry programs that write the next flow into the packet, then tail-call the measured program. */

#include <stdbool.h>
#include <stddef.h>

#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bench/flows.h"

#define SOURCE_AT 26 /* offset of the source address in the frame */
#define PORT_AT   34
#define END       42

volatile struct flows_control control SEC(FLOWS_CONTROL_SECTION) = {.flows = 1};

struct contestants {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
	__uint(max_entries, 1);
};

struct contestants of_tc SEC(".maps"), of_xdp SEC(".maps");

static __always_inline bool make_packet(void *start, void *end)
{
	__u8 *data = start;
	__u32 number, flow;

	if ((void *)(data + END) > end)
		return false;
	/* an order that prefetchers cannot predict */
	number = control.next++ * 0x9e3779b1u;
	flow = ((__u64)(number ^ number >> 15) * control.flows) >> 32;
	*(__u32 *)(data + SOURCE_AT) = bpf_htonl(0x0a000000 + flow);
	*(__u16 *)(data + PORT_AT) = bpf_htons((__u16)(flow * 7));
	return true;
}

SEC("tc") int next_tc(struct __sk_buff *skb)
{
	if (make_packet((void *)(long)skb->data, (void *)(long)skb->data_end))
		bpf_tail_call(skb, &of_tc, 0);
	return FLOWS_FAILED;
}

SEC("tc") int empty_tc(struct __sk_buff *skb)
{
	(void)skb;
	return TC_ACT_UNSPEC;
}

SEC("xdp") int next_xdp(struct xdp_md *xdp)
{
	if (make_packet((void *)(long)xdp->data, (void *)(long)xdp->data_end))
		bpf_tail_call(xdp, &of_xdp, 0);
	return FLOWS_FAILED;
}

SEC("xdp") int empty_xdp(struct xdp_md *xdp)
{
	(void)xdp;
	return XDP_PASS;
}

/* Most eBPF programs for flows use such a hash map with atomic additions. */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct flows_key);
	__type(value, struct flows_counts);
	__uint(max_entries, 1 << 18);
} hash SEC(".maps");

SEC("tc") int map_tc(struct __sk_buff *skb)
{
	__u8 *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	__u64 now = 0, length = skb->len;
	struct flows_counts *counts;
	struct flows_key key;

	if (data + END > end)
		return TC_ACT_UNSPEC;
	key.addresses[0] = *(__u32 *)(data + SOURCE_AT);
	key.addresses[1] = *(__u32 *)(data + SOURCE_AT + 4);
	key.ports = *(__u32 *)(data + PORT_AT);
	key.proto = data[23];
	if (control.times == FLOWS_TIMES_EXACT)
		now = bpf_ktime_get_ns();
	else if (control.times == FLOWS_TIMES_COARSE)
		now = bpf_ktime_get_coarse_ns();
	counts = bpf_map_lookup_elem(&hash, &key);
	if (counts != NULL) {
		__sync_fetch_and_add(&counts->packets, 1);
		__sync_fetch_and_add(&counts->bytes, length);
		counts->last = now;
	} else {
		struct flows_counts first = {1, length, now, now};

		bpf_map_update_elem(&hash, &key, &first, BPF_ANY);
	}
	return TC_ACT_UNSPEC;
}

char _license[] SEC("license") = "Dual BSD/GPL";
