/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Builds Ethernet frames of generated flows, with valid lengths and checksums. TCP packets are
 * acknowledgements with sequence number 0, ICMP packets are echo requests.
 */

#include <stdbool.h>
#include <stdint.h>

#define FRAME_HEADERS_MAX 80 /* a multiple of 16; the longest headers have 78 bytes */
#define FRAME_HOP_LIMIT   64 /* IPv6 hop limit, IPv4 time to live */

/* Destination, then source */
#define FRAME_ADDRESSES_LEN 12
extern const uint8_t frame_addresses[FRAME_ADDRESSES_LEN];

enum frame_l4 {
	FRAME_TCP,
	FRAME_UDP,
	FRAME_ICMP, /* ICMPv6 in IPv6 */
	FRAME_L4_COUNT,
};

struct frame_flow {
	/* IPv6: the low 64 bits of addresses in 2001:2:: (RFC 5180) */
	uint64_t src, dst;
	/* ICMP: identifier and sequence number */
	uint16_t src_port, dst_port;
	enum frame_l4 l4;
	bool ipv6;
	bool vlan;
};

struct frame_template {
	uint8_t bytes[FRAME_HEADERS_MAX];
	uint32_t headers; /* bytes of all headers */
	uint32_t l3, l4;  /* byte offsets of the IP header and the L4 header */
	uint32_t ports;   /* byte offset of the source port; the destination port follows */
	uint32_t checksum;
	/* Sums of the constant 16-bit words, for the checksums */
	uint32_t ip_sum;
	uint32_t l4_sum;
	uint32_t l4_addresses; /* 1 if the L4 checksum covers the addresses, else 0 */
	uint32_t l4_lengths;   /* number of times that the L4 checksum includes the L4 length */
};

struct frame_templates {
	struct frame_template of[2][2][FRAME_L4_COUNT]; /* [ipv6][vlan][enum frame_l4] */
	uint32_t payload;                               /* minimum payload bytes */
};

void frame_templates_init(struct frame_templates *templates);

/*
 * Overwrites FRAME_HEADERS_MAX bytes. The rest of `frame` must already be zero. If `size` is too
 * small for the headers, the frame is longer. Returns the length of the frame.
 */
uint32_t frame_build(const struct frame_templates *templates, const struct frame_flow *flow,
	uint32_t size, uint8_t *frame);
