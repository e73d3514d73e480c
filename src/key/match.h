/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Conditions on 5-tuples, in the language of pcap-filter(7): ip, ip6, tcp, udp, sctp, icmp, icmp6,
 * proto N, and [src|dst] host, net, port and portrange, with and, or, not and parentheses. As in
 * libpcap, `and` and `or` have the same precedence, and a value without keywords has those of the
 * value before it. A packet without ports has ports 0.
 */

#include <stdbool.h>
#include <stdint.h>

#define MATCH_WHY_MAX   200
/* Maximum number of boxes of a condition. */
#define MATCH_BOXES_MAX 256

/* An IPv4 address is in the first 32 bits; the others are 0. */
typedef unsigned __int128 match_address;

#define MATCH_IPV4 1
#define MATCH_IPV6 2

/* 5-tuples whose fields are all within a range. Ranges include both ends. */
struct match_box {
	match_address src[2], dst[2];
	uint16_t src_port[2], dst_port[2];
	uint8_t proto[2];
	uint8_t families; /* MATCH_IPV4 | MATCH_IPV6 */
};

/* A 5-tuple matches if it is in a box. Boxes may overlap. */
struct match {
	uint32_t n; /* 0: no 5-tuple matches */
	struct match_box *boxes;
};

/* Returns false on error, with the reason in why[MATCH_WHY_MAX]. */
bool match_compile(struct match *match, const char *text, char *why);
void match_free(struct match *match);
