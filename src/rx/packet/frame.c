/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/packet/frame.h"

#include <string.h>

#include "base/assertion.h"
#include "rx/packet/unaligned.h"

#define ETHERNET_LEN 14
#define VLAN_LEN     4
#define VLAN_ID      100
#define IPV4_LEN     20
#define IPV6_LEN     40
#define WINDOW       0xffff

static uint32_t sum64(uint64_t value)
{
	return (uint32_t)((value >> 48) + (value >> 32 & 0xffff) + (value >> 16 & 0xffff) +
			  (value & 0xffff));
}

static uint32_t sum_bytes(const uint8_t *bytes, uint32_t len)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < len; i += 2)
		sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
	return sum;
}

/* Internet checksum (RFC 1071); `sum` is the sum of all 16-bit words */
static uint32_t checksum(uint32_t sum)
{
	sum = (sum >> 16) + (sum & 0xffff);
	sum += sum >> 16;
	return ~sum & 0xffff;
}

const uint8_t frame_addresses[FRAME_ADDRESSES_LEN] = {
	0x02, 0, 0, 0, 0, 0x02, 0x02, 0, 0, 0, 0, 0x01};

static void put_ethernet(struct frame_template *t, bool ipv6, bool vlan)
{
	uint8_t *type = t->bytes + FRAME_ADDRESSES_LEN;

	memcpy(t->bytes, frame_addresses, FRAME_ADDRESSES_LEN);
	if (vlan) {
		put_be16(type, 0x8100);
		put_be16(type + 2, VLAN_ID);
		type += VLAN_LEN;
	}
	put_be16(type, ipv6 ? 0x86dd : 0x0800);
	t->l3 = ETHERNET_LEN + (vlan ? VLAN_LEN : 0);
}

static void put_ip(struct frame_template *t, bool ipv6, uint8_t proto)
{
	static const uint8_t prefix[8] = {0x20, 0x01, 0x00, 0x02};
	uint8_t *ip = t->bytes + t->l3;

	if (ipv6) {
		ip[0] = 0x60;
		ip[6] = proto;
		ip[7] = FRAME_HOP_LIMIT;
		memcpy(ip + 8, prefix, sizeof(prefix));
		memcpy(ip + 24, prefix, sizeof(prefix));
		t->l4 = t->l3 + IPV6_LEN;
	} else {
		ip[0] = 0x45;
		ip[6] = 0x40; /* don't fragment */
		ip[8] = FRAME_HOP_LIMIT;
		ip[9] = proto;
		t->ip_sum = sum_bytes(ip, IPV4_LEN);
		t->l4 = t->l3 + IPV4_LEN;
	}
}

static void put_l4(struct frame_template *t, bool ipv6, enum frame_l4 l4, uint8_t proto)
{
	uint8_t *header = t->bytes + t->l4;
	bool pseudo_header = ipv6 || l4 != FRAME_ICMP;

	t->ports = t->l4;
	t->l4_addresses = pseudo_header;
	t->l4_lengths = pseudo_header;
	switch (l4) {
	case FRAME_TCP:
		header[12] = 5 << 4;
		header[13] = 0x10;
		put_be16(header + 14, WINDOW);
		t->checksum = t->l4 + 16;
		t->headers = t->l4 + 20;
		break;
	case FRAME_UDP:
		t->l4_lengths++; /* the UDP header also has the length */
		t->checksum = t->l4 + 6;
		t->headers = t->l4 + 8;
		break;
	default:
		header[0] = ipv6 ? 128 : 8;
		t->ports = t->l4 + 4;
		t->checksum = t->l4 + 2;
		t->headers = t->l4 + 8;
	}
	VERIFY(t->headers, <=, (uint32_t)FRAME_HEADERS_MAX);
	t->l4_sum = sum_bytes(header, t->headers - t->l4);
	if (pseudo_header)
		t->l4_sum += proto;
	if (ipv6)
		t->l4_sum += 2 * sum_bytes(t->bytes + t->l3 + 8,
					 8); /* the high 64 bits of both addresses */
}

void frame_templates_init(struct frame_templates *templates)
{
	static const uint8_t protos[2][FRAME_L4_COUNT] = {{6, 17, 1}, {6, 17, 58}};

	memset(templates, 0, sizeof(*templates));
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		for (int vlan = 0; vlan < 2; vlan++) {
			for (enum frame_l4 l4 = 0; l4 < FRAME_L4_COUNT; l4++) {
				struct frame_template *t = &templates->of[ipv6][vlan][l4];

				put_ethernet(t, ipv6, vlan);
				put_ip(t, ipv6, protos[ipv6][l4]);
				put_l4(t, ipv6, l4, protos[ipv6][l4]);
			}
		}
	}
}

uint32_t frame_build(const struct frame_templates *templates, const struct frame_flow *flow,
	uint32_t size, uint8_t *frame)
{
	const struct frame_template *t = &templates->of[flow->ipv6][flow->vlan][flow->l4];
	uint32_t least = t->headers + templates->payload;
	uint32_t length = size > least ? size : least;
	uint32_t l4_length = length - t->l4;
	uint32_t addresses = sum64(flow->src) + sum64(flow->dst);
	uint32_t l4_checksum;

	memcpy(frame, t->bytes, FRAME_HEADERS_MAX);
	if (flow->ipv6) {
		put_be16(frame + t->l3 + 4, l4_length);
		put_be64(frame + t->l3 + 16, flow->src);
		put_be64(frame + t->l3 + 32, flow->dst);
	} else {
		uint32_t ip_length = length - t->l3;

		put_be16(frame + t->l3 + 2, ip_length);
		put_be16(frame + t->l3 + 10, checksum(t->ip_sum + ip_length + addresses));
		put_be32(frame + t->l3 + 12, (uint32_t)flow->src);
		put_be32(frame + t->l3 + 16, (uint32_t)flow->dst);
	}
	put_be16(frame + t->ports, flow->src_port);
	put_be16(frame + t->ports + 2, flow->dst_port);
	l4_checksum = checksum(t->l4_sum + t->l4_addresses * addresses + t->l4_lengths * l4_length +
			       flow->src_port + flow->dst_port);
	if (flow->l4 == FRAME_UDP) {
		put_be16(frame + t->l4 + 4, l4_length);
		if (l4_checksum == 0) /* 0 means no checksum (RFC 768) */
			l4_checksum = 0xffff;
	}
	put_be16(frame + t->checksum, l4_checksum);
	return length;
}
