/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Ethernet frames of generated flows: valid lengths and checksums (IPv4 header, TCP, UDP, ICMP),
 * payload all zero. TCP segments are acknowledgements without sequence numbers, ICMP is an echo
 * request.
 */

#include <stdbool.h>
#include <stdint.h>

#define FRAME_HEADERS_MAX 80 /* Ethernet, VLAN, IPv6 and TCP are 78; a multiple of 16 */
#define FRAME_HOP_LIMIT   64 /* hop limit of all frames; IPv4: time to live */

/* The Ethernet addresses of all of them, the destination first. */
#define FRAME_ADDRESSES_LEN 12
extern const uint8_t frame_addresses[FRAME_ADDRESSES_LEN];

enum frame_l4 {
	FRAME_TCP,
	FRAME_UDP,
	FRAME_ICMP, /* ICMPv6 in IPv6 */
	FRAME_L4_COUNT,
};

struct frame_flow {
	/* IPv4: the address. IPv6: the low 64 bits; the high ones are 2001:2::/64 (RFC 5180). */
	uint64_t src, dst;
	/* ICMP: identifier and sequence number. */
	uint16_t src_port, dst_port;
	enum frame_l4 l4;
	bool ipv6;
	bool vlan;
};

/* Common bytes of frames of one kind, and offsets of their other fields. */
struct frame_template {
	uint8_t bytes[FRAME_HEADERS_MAX];
	uint32_t headers; /* bytes of all headers: minimum frame length */
	uint32_t l3, l4;  /* offsets of the IP header and of what follows it */
	uint32_t ports;   /* offset of the two fields that src_port and dst_port fill */
	uint32_t checksum;
	/* Sums of 16-bit words of `bytes`, to which those of the other fields are added. */
	uint32_t ip_sum;
	uint32_t l4_sum;
	uint32_t l4_addresses; /* 1 where the L4 checksum covers the addresses, else 0 */
	uint32_t l4_lengths;   /* how many times it covers the L4 length */
};

struct frame_templates {
	struct frame_template of[2][2][FRAME_L4_COUNT]; /* ipv6, vlan, l4 */
	uint32_t payload;                               /* minimum payload bytes */
};

void frame_templates_init(struct frame_templates *templates);

/*
 * Writes the headers of a frame of `size` bytes, or as many as its headers need, and returns its
 * length. frame[FRAME_HEADERS_MAX] is overwritten; the bytes behind it must be zero already.
 */
uint32_t frame_build(const struct frame_templates *templates, const struct frame_flow *flow,
	uint32_t size, uint8_t *frame);
