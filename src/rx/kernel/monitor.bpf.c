/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * eBPF program that writes each packet of an interface to the ring of its CPU (layout.h). It finds
 * the keys of frequent packet types itself and copies the first bytes of all others for
 * parse_packet().
 */

#include <stdbool.h>
#include <stddef.h>

#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "rx/kernel/layout.h"
#include "sketch/kernel_addition.h"
#include "sketch/kernel_sketches.h"

#define inline_always static __always_inline

/* TCX_NEXT, which older kernel headers do not define */
#define GO_ON TC_ACT_UNSPEC

#define TYPE_IPV4      0x0800
#define TYPE_IPV6      0x86dd
#define TYPE_VLAN      0x8100
#define TYPE_QINQ      0x88a8
#define TYPE_QINQ_OLD1 0x9100
#define TYPE_QINQ_OLD2 0x9200

#define PROTO_HOP_BY_HOP  0
#define PROTO_TCP         6
#define PROTO_UDP         17
#define PROTO_ROUTING     43
#define PROTO_FRAGMENT    44
#define PROTO_AH          51
#define PROTO_DESTINATION 60
#define PROTO_SCTP        132

#define ETHERNET_HEADER 14
#define ADDRESSES       12
#define TAG             4
#define IPV4_HEADER     20
#define IPV6_HEADER     40
#define UDP_HEADER      8
#define TCP_HEADER      20
#define VLAN_ID         0x0fff

const volatile struct kernel_constants constants SEC(KERNEL_CONSTANTS_SECTION) = {.slots = 1024};
volatile struct kernel_control control SEC(KERNEL_CONTROL_SECTION) = {0};

#define ARRAY_OF_MAPS(name, n, map)                                                                \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);                                          \
		__uint(key_size, sizeof(__u32));                                                   \
		__uint(max_entries, n);                                                            \
		__array(values, map);                                                              \
	} name SEC(".maps")

/* The loader sets the real number of rings and slots. */
KERNEL_ARRAY(rings, KERNEL_RING_BYTES(1024));

KERNEL_ARRAY(flows, sizeof(struct kernel_flow));

KERNEL_ARRAY(tallies, sizeof(struct kernel_tally));

struct shared_flows {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(key_size, sizeof(struct kernel_shared_key));
	__uint(value_size, sizeof(struct kernel_flow));
	__uint(max_entries, 1);
} shared0 SEC(".maps"), shared1 SEC(".maps");

ARRAY_OF_MAPS(shared, 2, struct shared_flows) = {.values = {&shared0, &shared1}};

const struct kernel_flow no_flow = {0};

/*
 * An update of a map of maps waits until all running programs have ended. kernel_program_wait()
 * updates `exchanged` only for this effect.
 */
struct nothing {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
	__uint(max_entries, 1);
} nothing SEC(".maps");

ARRAY_OF_MAPS(exchanged, 1, struct nothing) = {.values = {&nothing}};

struct rules4 {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct kernel_prefixes));
	__uint(max_entries, 1);
	__uint(map_flags, KERNEL_PREFIX_FLAGS);
} no_rules4 SEC(".maps");

ARRAY_OF_MAPS(monitored4, 2, struct rules4) = {.values = {&no_rules4, &no_rules4}};

struct rules6 {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(key_size, sizeof(struct kernel_prefix6));
	__uint(value_size, sizeof(__u32));
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} no_rules6 SEC(".maps");

ARRAY_OF_MAPS(monitored6, 2, struct rules6) = {.values = {&no_rules6, &no_rules6}};

struct monitor_packet {
	void *context;
	bool xdp;
	const __u8 *data, *end; /* directly readable bytes; the packet may have more */
	__u32 length;
	__u32 interface;
	/* The kernel joined this number of segments, with this number of payload bytes; 0: none */
	__u32 segments, segment;
	bool tagged;                  /* the kernel removed a VLAN tag */
	__be16 tag_type, tag_control; /* fields of the removed VLAN tag */
};

inline_always __u16 load16(const __u8 *from)
{
	return *(const __u16 *)from;
}

inline_always __u32 load32(const __u8 *from)
{
	return *(const __u32 *)from;
}

inline_always __u64 load64(const __u8 *from)
{
	return *(const __u64 *)from;
}

inline_always bool is_tag(__u16 type)
{
	return type == bpf_htons(TYPE_VLAN) || type == bpf_htons(TYPE_QINQ) ||
	       type == bpf_htons(TYPE_QINQ_OLD1) || type == bpf_htons(TYPE_QINQ_OLD2);
}

inline_always bool has_ports(__u8 proto)
{
	return proto == PROTO_TCP || proto == PROTO_UDP || proto == PROTO_SCTP;
}

inline_always bool is_extension(__u8 proto)
{
	return proto == PROTO_HOP_BY_HOP || proto == PROTO_ROUTING || proto == PROTO_FRAGMENT ||
	       proto == PROTO_AH || proto == PROTO_DESTINATION;
}

/* The header at `at` follows `before` bytes on the wire. False: parse_packet() must parse it. */
inline_always bool read_transport(const struct monitor_packet *packet, const __u8 *at, __u32 before,
	__u8 proto, struct kernel_entry *entry, __u32 *ports)
{
	*ports = 0;
	entry->tcp_flags = 0;
	entry->headers = 0;
	if (!has_ports(proto))
		return packet->segment == 0;
	if (at + 4 > packet->end)
		return false;
	*ports = load32(at);
	if (proto == PROTO_TCP) {
		if (at + 14 > packet->end)
			return false;
		entry->tcp_flags = at[13];
		entry->headers = before + (at[12] >> 4) * 4;
		return true;
	}
	entry->headers = before + UDP_HEADER;
	return proto == PROTO_UDP || packet->segment == 0;
}

inline_always bool read_ipv4(const struct monitor_packet *packet, const __u8 *at, __u32 before,
	struct kernel_entry *entry)
{
	bool later_fragment;
	__u32 ports = 0;
	__u8 proto;

	if (at + IPV4_HEADER > packet->end || at[0] != 0x45)
		return false;
	proto = at[9];
	later_fragment = (load16(at + 6) & bpf_htons(0x1fff)) != 0;
	entry->tcp_flags = 0;
	entry->headers = 0;
	if (later_fragment) {
		if (packet->segment != 0)
			return false;
	} else if (!read_transport(
			   packet, at + IPV4_HEADER, before + IPV4_HEADER, proto, entry, &ports)) {
		return false;
	}
	*(__u64 *)entry->key = load64(at + 12);
	/*
	 * Older verifiers reject reads of bytes that were never written, so all 16 bytes are
	 * written.
	 */
	*(__u64 *)(entry->key + 8) = ports | (__u64)proto << 32;
	entry->tos = at[1];
	entry->kind = KERNEL_ENTRY_IPV4;
	return true;
}

inline_always bool read_ipv6(const struct monitor_packet *packet, const __u8 *at, __u32 before,
	struct kernel_entry *entry)
{
	__u32 ports;
	__u8 proto;

	if (at + IPV6_HEADER > packet->end || at[0] >> 4 != 6)
		return false;
	proto = at[6];
	if (is_extension(proto) || !read_transport(packet, at + IPV6_HEADER, before + IPV6_HEADER,
					   proto, entry, &ports))
		return false;
	*(__u64 *)entry->key = load64(at + 8);
	*(__u64 *)(entry->key + 8) = load64(at + 16);
	*(__u64 *)(entry->key + 16) = load64(at + 24);
	*(__u64 *)(entry->key + 24) = load64(at + 32);
	*(__u32 *)(entry->key + 32) = ports;
	entry->key[36] = proto;
	entry->tos = (__u8)(at[0] << 4 | at[1] >> 4);
	entry->kind = KERNEL_ENTRY_IPV6;
	return true;
}

/* Returns false if parse_packet() must parse the packet. */
inline_always bool read_key(const struct monitor_packet *packet, struct kernel_entry *entry)
{
	const __u8 *at = packet->data + ETHERNET_HEADER;
	__u32 before = ETHERNET_HEADER;
	__u16 type, vlan = 0;

	if (constants.headers_only || at > packet->end)
		return false;
	if (packet->tagged) {
		vlan = bpf_ntohs(packet->tag_control) & VLAN_ID;
		before += TAG;
	}
	type = load16(packet->data + ADDRESSES);
#pragma unroll
	for (int i = 0; i < 2; i++) {
		if (!is_tag(type))
			break;
		if (at + TAG > packet->end)
			return false;
		if (i == 0 && !packet->tagged)
			vlan = bpf_ntohs(load16(at)) & VLAN_ID;
		type = load16(at + 2);
		at += TAG;
		before += TAG;
	}
	entry->vlan = vlan;
	if (type == bpf_htons(TYPE_IPV4))
		return read_ipv4(packet, at, before, entry);
	if (type == bpf_htons(TYPE_IPV6))
		return read_ipv6(packet, at, before, entry);
	return false;
}

/*
 * Returns the minimum of n >= 1 and `most`. Older verifiers do not derive n >= 1 from n != 0. The
 * asm statements keep the comparison and the result in one register, as the verifier requires.
 */
inline_always __u32 at_most(__u32 n, __u32 most)
{
	n--;
	asm volatile("" : "+r"(n));
	if (n > most - 1)
		n = most - 1;
	asm volatile("" : "+r"(n));
	return n + 1;
}

inline_always void copy(const struct monitor_packet *packet, __u32 from, void *to, __u32 n)
{
	if (packet->xdp)
		bpf_xdp_load_bytes(packet->context, from, to, n);
	else
		bpf_skb_load_bytes(packet->context, from, to, n);
}

/* Inserts the VLAN tag that the kernel removed. */
inline_always void copy_headers(const struct monitor_packet *packet, struct kernel_entry *entry)
{
	__u8 *to = (__u8 *)(entry + 1);
	__u32 n = packet->length;

	entry->kind = KERNEL_ENTRY_HEADERS;
	if (!packet->tagged || n <= ADDRESSES) {
		entry->headers = 0;
		if (n == 0)
			return;
		n = at_most(n, KERNEL_HEADERS_MAX);
		copy(packet, 0, to, n);
		entry->headers = n;
		return;
	}
	copy(packet, 0, to, ADDRESSES);
	*(__be16 *)(to + ADDRESSES) = packet->tag_type;
	*(__be16 *)(to + ADDRESSES + 2) = packet->tag_control;
	n = at_most(n - ADDRESSES, KERNEL_HEADERS_MAX - ADDRESSES - TAG);
	copy(packet, ADDRESSES, to + ADDRESSES + TAG, n);
	entry->headers = n + ADDRESSES + TAG;
}

inline_always __u32 frame_length(const struct monitor_packet *packet)
{
	return packet->length + (packet->tagged ? TAG : 0);
}

/* The kernel does not report the segments of some packets from virtual machines and sockets. */
inline_always __u32 count_segments(const struct monitor_packet *packet, __u32 headers)
{
	__u32 length = frame_length(packet), n;

	if (packet->segment == 0)
		return 1;
	n = packet->segments;
	if (n == 0 && length > headers)
		n = (length - headers + packet->segment - 1) / packet->segment;
	if (n == 0)
		return 1;
	return n < KERNEL_SEGMENTS_MAX ? n : KERNEL_SEGMENTS_MAX;
}

inline_always bool has_room(struct kernel_ring *ring, __u32 n)
{
	if (ring->head + n - ring->tail_seen <= constants.slots)
		return true;
	/* Pairs with the release in kernel_reader_release(). */
	ring->tail_seen = *(volatile __u64 *)&ring->tail;
	return ring->head + n - ring->tail_seen <= constants.slots;
}

/* Pairs with the acquire in kernel_reader_look(). */
inline_always void publish(struct kernel_ring *ring, __u64 head)
{
#ifdef KERNEL_STORES_IN_ORDER
	asm volatile("" ::: "memory");
	*(volatile __u64 *)&ring->head = head;
#else
	__sync_lock_test_and_set(&ring->head, head);
#endif
}

inline_always __u64 time_of_packet(void)
{
	__u32 whose = control.times;

	if (whose == KERNEL_TIMES_NONE)
		return 0;
	return whose == KERNEL_TIMES_EXACT ? bpf_ktime_get_ns() : bpf_ktime_get_coarse_ns();
}

inline_always __u32 prefix_entry(void *rules, __u32 at)
{
	__u32 index = at / KERNEL_PREFIX_ENTRIES;
	const struct kernel_prefixes *found = bpf_map_lookup_elem(rules, &index);

	return found != NULL ? found->entries[at % KERNEL_PREFIX_ENTRIES] : KERNEL_PREFIX_NONE;
}

inline_always bool holds_ipv4(void *rules, const __u8 *bits)
{
	__u32 address = bpf_ntohl(load32(bits));
	__u32 entry = prefix_entry(rules, address >> 16);

	if (entry > KERNEL_PREFIX_ALL)
		entry = prefix_entry(rules, entry + (address >> 8 & 0xff));
	if (entry > KERNEL_PREFIX_ALL)
		entry = prefix_entry(rules, entry + (address >> 5 & 7)) >> (address & 31) & 1;
	return entry != KERNEL_PREFIX_NONE;
}

inline_always bool holds_ipv6(void *rules, const __u8 *bits)
{
	struct kernel_prefix6 address = {.length = 128};

	__builtin_memcpy(address.bits, bits, sizeof(address.bits));
	return bpf_map_lookup_elem(rules, &address) != NULL;
}

inline_always bool is_monitored(const struct kernel_entry *entry, __u32 generation)
{
	bool ipv4 = entry->kind == KERNEL_ENTRY_IPV4;
	void *rules;

	if (constants.monitor == 0)
		return true;
	if (ipv4) {
		rules = bpf_map_lookup_elem(&monitored4, &generation);
		return rules != NULL && (((constants.monitor & KERNEL_PREFIX_DST) != 0 &&
						 holds_ipv4(rules, entry->key + 4)) ||
						((constants.monitor & KERNEL_PREFIX_SRC) != 0 &&
							holds_ipv4(rules, entry->key)));
	}
	rules = bpf_map_lookup_elem(&monitored6, &generation);
	return rules != NULL && (((constants.monitor & KERNEL_PREFIX_DST) != 0 &&
					 holds_ipv6(rules, entry->key + 16)) ||
					((constants.monitor & KERNEL_PREFIX_SRC) != 0 &&
						holds_ipv6(rules, entry->key)));
}

/* The last word of a 5-tuple. The byte after it holds the TCP flags. */
#define LAST_WORD       0xffffffffffull
#define LAST_WORD_FLAGS 40

inline_always void hash_addition(struct kernel_addition *addition, const __u32 words)
{
	addition->lo = kernel_hash(constants.hash_keys, addition->key, words);
	if (constants.on_path == KERNEL_ON_PATH_SKETCH)
		addition->hi =
			kernel_hash(constants.hash_keys + KERNEL_HASH_KEYS, addition->key, words);
}

inline_always void read_addition(struct kernel_addition *addition, const struct kernel_entry *entry)
{
	__u64 flags = constants.tcp_flags != 0 ? (__u64)entry->tcp_flags << LAST_WORD_FLAGS : 0;

	addition->version = entry->kind;
	addition->tcp_flags = entry->tcp_flags;
	addition->key[0] = load64(entry->key);
	if (entry->kind == KERNEL_ENTRY_IPV4) {
		addition->key[1] = (load64(entry->key + 8) & LAST_WORD) | flags;
		addition->key[2] = addition->key[3] = addition->key[4] = 0;
		hash_addition(addition, 2);
		return;
	}
	addition->key[1] = load64(entry->key + 8);
	addition->key[2] = load64(entry->key + 16);
	addition->key[3] = load64(entry->key + 24);
	addition->key[4] = (load64(entry->key + 32) & LAST_WORD) | flags;
	hash_addition(addition, 5);
}

inline_always bool is_same(const struct kernel_flow *flow, const struct kernel_addition *addition)
{
	if (flow->key[0] != addition->key[0] || flow->key[1] != addition->key[1] ||
		flow->kind != addition->version)
		return false;
	return addition->version == KERNEL_ENTRY_IPV4 ||
	       (flow->key[2] == addition->key[2] && flow->key[3] == addition->key[3] &&
		       flow->key[4] == addition->key[4]);
}

inline_always void begin_flow(struct kernel_flow *flow, const struct kernel_addition *addition)
{
	flow->first = flow->last = addition->time;
	flow->bytes = addition->bytes;
	flow->packets = addition->packets;
	flow->next = 0;
	flow->kind = addition->version;
	flow->tcp_flags = addition->tcp_flags;
	flow->key[0] = addition->key[0];
	flow->key[1] = addition->key[1];
	if (addition->version == KERNEL_ENTRY_IPV4)
		return;
	flow->key[2] = addition->key[2];
	flow->key[3] = addition->key[3];
	flow->key[4] = addition->key[4];
}

/* Returns false if the packet counter would overflow. */
inline_always bool add_to_flow(struct kernel_flow *flow, const struct kernel_addition *addition)
{
	if (flow->packets > 0xffffffff - addition->packets)
		return false;
	flow->packets += addition->packets;
	flow->bytes += addition->bytes;
	flow->last = addition->time;
	if ((addition->tcp_flags & ~flow->tcp_flags) != 0)
		flow->tcp_flags |= addition->tcp_flags;
	return true;
}

/* Returns false if the chain or the table is full. */
inline_always bool add_to_table(
	struct kernel_tally *tally, __u32 table, __u32 at, const struct kernel_addition *addition)
{
	__u32 base = table * 2 * constants.buckets, index = base + at;
	struct kernel_flow *flow = bpf_map_lookup_elem(&flows, &index), *last = flow;

	if (flow == NULL)
		return false;
	if (flow->packets == 0) {
		begin_flow(flow, addition);
		return true;
	}
	for (__u32 i = 0; i < KERNEL_CHAIN_MAX; i++) {
		if (is_same(flow, addition))
			return add_to_flow(flow, addition);
		if (i + 1 == KERNEL_CHAIN_MAX)
			return false;
		last = flow;
		if (flow->next == 0)
			break;
		index = base + flow->next;
		flow = bpf_map_lookup_elem(&flows, &index);
		if (flow == NULL)
			return false;
	}
	if (tally->used >= constants.buckets)
		return false;
	at = constants.buckets + tally->used;
	index = base + at;
	flow = bpf_map_lookup_elem(&flows, &index);
	if (flow == NULL)
		return false;
	tally->used++;
	begin_flow(flow, addition);
	last->next = at;
	return true;
}

inline_always void note_sizes(struct kernel_tally *tally, const struct monitor_packet *packet,
	const struct kernel_entry *entry, __u32 segments, __u32 length)
{
	__u32 largest = length, smallest = length;

	if (segments > 1) {
		__u32 before = (segments - 1) * packet->segment + entry->headers;

		largest = entry->headers + packet->segment;
		smallest = length > before ? entry->headers + length - before : largest;
	}
	if (largest > tally->largest)
		tally->largest = largest;
	if (smallest < tally->smallest || tally->smallest == 0)
		tally->smallest = smallest;
}

inline_always bool add_to_shared(__u32 generation, const struct kernel_addition *addition)
{
	void *map = bpf_map_lookup_elem(&shared, &generation);
	struct kernel_shared_key key;
	struct kernel_flow *flow;

	if (map == NULL)
		return false;
	for (__u32 i = 0; i < 5; i++)
		key.key[i] = addition->key[i];
	key.kind = addition->version;
	flow = bpf_map_lookup_elem(map, &key);
	if (flow == NULL) {
		bpf_map_update_elem(map, &key, &no_flow, BPF_NOEXIST);
		flow = bpf_map_lookup_elem(map, &key);
		if (flow == NULL)
			return false;
	}
	/* Several CPUs may write here at once. They write the same key and kind. */
	if (flow->kind == 0) {
		for (__u32 i = 0; i < 5; i++)
			flow->key[i] = addition->key[i];
		flow->first = addition->time;
		flow->kind = addition->version;
	}
	if (flow->packets > KERNEL_SHARED_MAX)
		return false;
	__sync_fetch_and_add(&flow->packets, addition->packets);
	__sync_fetch_and_add(&flow->bytes, addition->bytes);
	flow->last = addition->time;
	if ((addition->tcp_flags & ~flow->tcp_flags) != 0)
		__sync_fetch_and_or(&flow->tcp_flags, addition->tcp_flags);
	return true;
}

/* The verifier treats constants.sketch as a constant, so only one case remains. */
inline_always bool add_to_sketch(__u32 instance, const struct kernel_addition *addition)
{
	switch (constants.sketch) {
#define KERNEL_SKETCH(name)                                                                        \
	case KERNEL_SKETCH_##name: return name##_kernel_add(instance, constants.shape, addition);
		KERNEL_SKETCHES
#undef KERNEL_SKETCH
	}
	return false;
}

/* Returns false if the table is full, or if no payload can be divided into segments. */
inline_always bool count_flow(const struct monitor_packet *packet, const struct kernel_entry *entry,
	__u32 segments, __u32 table)
{
	__u32 length = frame_length(packet);
	struct kernel_tally *tally = bpf_map_lookup_elem(&tallies, &table);
	struct kernel_addition addition;

	if (tally == NULL || (segments > 1 && entry->headers >= length))
		return false;
	read_addition(&addition, entry);
	addition.time = constants.on_path != KERNEL_ON_PATH_SKETCH ? time_of_packet() : 0;
	addition.packets = segments;
	addition.bytes = length + (__u64)(segments - 1) * entry->headers;
	if (constants.on_path == KERNEL_ON_PATH_SKETCH) {
		if (!add_to_sketch(table, &addition))
			return false;
		tally->packets[addition.version == KERNEL_ENTRY_IPV6] += segments;
		tally->bytes += addition.bytes;
	} else if (constants.on_path == KERNEL_ON_PATH_SHARED) {
		if (!add_to_shared(table >= constants.cpus, &addition))
			return false;
	} else if (!add_to_table(
			   tally, table, (__u32)addition.lo & (constants.buckets - 1), &addition)) {
		return false;
	}
	note_sizes(tally, packet, entry, segments, length);
	return true;
}

inline_always void count_full(struct kernel_ring *ring, __u32 segments)
{
	ring->received += segments;
	ring->ring_full += segments;
}

inline_always void put_into_ring(const struct monitor_packet *packet, struct kernel_ring *ring)
{
	const __u32 usual = ETHERNET_HEADER + (packet->tagged ? TAG : 0) + IPV4_HEADER + TCP_HEADER;
	__u32 segments, taken = 1;
	struct kernel_entry *entry;
	__u64 head = ring->head;

	if (!has_room(ring, 1)) {
		count_full(ring, count_segments(packet, usual));
		return;
	}
	entry = (struct kernel_entry *)((__u8 *)(ring + 1) + (head & (constants.slots - 1)) *
								     sizeof(struct kernel_entry));
	if (read_key(packet, entry)) {
		segments = count_segments(packet, entry->headers);
	} else {
		segments = count_segments(packet, usual);
		taken += KERNEL_HEADERS_SLOTS;
		if (!has_room(ring, taken)) {
			count_full(ring, segments);
			return;
		}
		copy_headers(packet, entry);
	}
	entry->time = time_of_packet();
	entry->length = frame_length(packet);
	entry->interface = packet->interface;
	entry->segments = segments;
	entry->segment = packet->segment;
	ring->received += segments;
	publish(ring, head + taken);
}

inline_always void notify_worker(const struct monitor_packet *packet)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct kernel_ring *ring = bpf_map_lookup_elem(&rings, &cpu);
	__u32 segments;

	if (ring == NULL)
		return;
	if (constants.on_path || constants.monitor) {
		/* The verifier requires that all bytes that are read were written. */
		struct kernel_entry seen = {0};
		/* Read once, so that tables and rules belong to the same generation. */
		__u32 generation = *(volatile __u64 *)&ring->generation & 1;

		asm volatile("" : : "r"(&seen) : "memory");
		if (read_key(packet, &seen)) {
			segments = count_segments(packet, seen.headers);
			if (!is_monitored(&seen, generation)) {
				ring->received += segments;
				ring->filtered[generation] += segments;
				return;
			}
			if (constants.on_path && count_flow(packet, &seen, segments,
							 generation * constants.cpus + cpu)) {
				ring->received += segments;
				return;
			}
		}
	}
	put_into_ring(packet, ring);
}

SEC("tc") int sketchtap_tc(struct __sk_buff *skb)
{
	struct monitor_packet packet = {.context = skb};

	if (!control.measuring)
		return GO_ON;
	packet.data = (const __u8 *)(long)skb->data;
	packet.end = (const __u8 *)(long)skb->data_end;
	packet.length = skb->len;
	packet.interface = skb->ifindex;
	packet.segment = skb->gso_size;
	if (packet.segment > 0)
		packet.segments = skb->gso_segs;
	packet.tagged = skb->vlan_present;
	if (packet.tagged) {
		packet.tag_type = (__be16)skb->vlan_proto;
		packet.tag_control = bpf_htons((__u16)skb->vlan_tci);
	}
	notify_worker(&packet);
	return GO_ON;
}

SEC("xdp.frags") int sketchtap_xdp(struct xdp_md *xdp)
{
	struct monitor_packet packet = {.context = xdp, .xdp = true};

	if (!control.measuring)
		return XDP_PASS;
	packet.data = (const __u8 *)(long)xdp->data;
	packet.end = (const __u8 *)(long)xdp->data_end;
	packet.length = bpf_xdp_get_buff_len(xdp);
	packet.interface = xdp->ingress_ifindex;
	notify_worker(&packet);
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
