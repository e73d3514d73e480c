/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Parses packet headers into keys:
 *
 *  - Ethernet, SLL, SLL2: all VLAN tags (EtherTypes 0x8100, 0x88a8, 0x9100, 0x9200) and MPLS labels
 *    are skipped. An IP packet follows the labels if the next nibble is its version, and its length
 *    and checksum are correct. Without labels, these are not verified.
 *  - An IPv4 header needs IHL >= 5 and IHL * 4 captured bytes, an IPv6 header 40.
 *  - IPv6 extension headers (0, 43, 44, 51, 60) are skipped.
 *  - Ports are those of TCP, UDP and SCTP. They are 0 in all fragments but the first, and if less
 *    than four bytes follow the IP header.
 *  - The outermost IP header gives the key. The contents of tunnels are not parsed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "key/key.h"
#include "rx/packet/link_type.h"

#define PARSE_IPV6_EXTENSIONS_MAX 8
/* Bytes of the TCP window, which follows the TCP flags */
#define PARSE_TCP_BEYOND          2

enum parse_verdict {
	PARSE_IPV4,
	PARSE_IPV6,
	PARSE_NON_IP,
	PARSE_CUT_LINK, /* truncated link header or VLAN tag */
	PARSE_CUT_MPLS, /* truncated label stack, or no byte after it */
	PARSE_CUT_IP,
	PARSE_BAD_VERSION, /* the version nibble contradicts the EtherType */
	PARSE_BAD_IHL,     /* IHL below 5, or longer than the captured bytes */
	PARSE_CUT_EXTENSION,
	PARSE_LONG_EXTENSION, /* more than PARSE_IPV6_EXTENSIONS_MAX headers */
	PARSE_VERDICT_COUNT,
};

/* Column of the packet ledger */
enum parse_class {
	PARSE_CLASS_KEY,
	PARSE_CLASS_NON_IP,
	PARSE_CLASS_MALFORMED,
};

struct parse_verdict_row {
	const char *name;
	enum parse_class class;
};

extern const struct parse_verdict_row parse_verdicts[PARSE_VERDICT_COUNT];

struct parsed {
	struct key4 key4; /* valid for PARSE_IPV4 */
	struct key6 key6; /* valid for PARSE_IPV6 */
	bool fragment;    /* also true for the first fragment */
	/* Byte offsets, valid for packets with a key. transport_at may be beyond the packet. */
	size_t ip_at, transport_at;
	/* Valid for packets with a key. The caller sets in_port. */
	struct key_extra extra;
	/* Packets with the same first `need` bytes have the same verdict, key and fields above. */
	uint32_t need;
	bool cut; /* more captured bytes could change the result */
};

enum parse_verdict parse_packet(
	const uint8_t *data, uint32_t len, enum link_type link, struct parsed *out);

/* `wire_len` of a packet whose length on the wire is unknown */
#define PARSE_WIRE_UNKNOWN UINT32_MAX

/* Only the first `len` bytes of the packet were captured. */
enum parse_verdict parse_captured(const uint8_t *data, uint32_t len, uint32_t wire_len,
	enum link_type link, struct parsed *out);

#define PARSE_MISSING_UNKNOWN UINT32_MAX
#define PARSE_IPV6_HEADER     40

/* Called for packets that are incomplete or whose IP header has no length */
uint32_t parse_missing_of_any(const uint8_t *data, uint32_t captured, uint32_t wire_len,
	uint32_t snaplen, const struct parsed *parsed);

/*
 * Returns the bytes on the wire that `wire_len` lacks, because the source truncated joined segments
 * (TSO, GRO). The packet must have a key. snaplen 0: no limit of captured bytes. Returns
 * PARSE_MISSING_UNKNOWN if no header has the length.
 */
static inline uint32_t parse_missing_bytes(const uint8_t *data, uint32_t captured,
	uint32_t wire_len, uint32_t snaplen, const struct parsed *parsed)
{
	const uint8_t *ip = data + parsed->ip_at;
	bool ipv6 = ip[0] >> 4 == 6;
	uint32_t length = ipv6 ? (uint32_t)(ip[4] << 8 | ip[5]) : (uint32_t)(ip[2] << 8 | ip[3]);

	if (captured < wire_len)
		return 0;
	if (captured == wire_len && length > 0 &&
		parsed->ip_at + length + (ipv6 ? PARSE_IPV6_HEADER : 0) <= captured)
		return 0;
	return parse_missing_of_any(data, captured, wire_len, snaplen, parsed);
}

void parse_ipv4_extra(const uint8_t *header, struct key_extra *extra);
