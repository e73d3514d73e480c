/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Parses packet headers into keys. Rules:
 *
 * - Ethernet, SLL, SLL2: all VLAN tags (0x8100, 0x88a8, 0x9100, 0x9200) are skipped. After 0x8847
 * and 0x8848, all MPLS labels are skipped; the next nibble is the IP version if length and checksum
 * are those of an IP header. Other packets are non-IP.
 * - IPv4 needs 20 bytes, version 4, IHL >= 5 and IHL * 4 bytes. IPv6 needs 40 bytes and version 6.
 * Without labels, checksums and total lengths are not verified.
 * - IPv6 extension headers (0, 43, 44, 51, 60) are skipped, up to PARSE_IPV6_EXTENSIONS_MAX; proto
 * is the header after them.
 * - Ports are those of TCP, UDP and SCTP. They are 0 in all fragments but the first, and if less
 * than four bytes follow the IP header.
 * - The outermost IP header counts; tunnels are not entered.
 *
 * The parser reads only the len captured bytes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "key/key.h"
#include "rx/packet/link_type.h"

#define PARSE_IPV6_EXTENSIONS_MAX 8
#define PARSE_TCP_BEYOND          2 /* bytes of the TCP window, which follow the first `need` */

/* Result of parsing a packet. Each rejection has its own value; parse_verdicts[] groups them. */
enum parse_verdict {
	PARSE_IPV4,
	PARSE_IPV6,
	PARSE_NON_IP,
	PARSE_CUT_LINK,       /* truncated link header or VLAN tag */
	PARSE_CUT_MPLS,       /* no bottom of stack, or no byte after it */
	PARSE_CUT_IP,         /* truncated IP header */
	PARSE_BAD_VERSION,    /* the version nibble contradicts the EtherType */
	PARSE_BAD_IHL,        /* below 5, or more than was captured */
	PARSE_CUT_EXTENSION,  /* truncated IPv6 extension header */
	PARSE_LONG_EXTENSION, /* more extension headers than the limit, or than a source delivers */
	PARSE_VERDICT_COUNT,
};

/* Ledger column of a verdict */
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
	struct key4 key4; /* valid if the verdict is PARSE_IPV4 */
	struct key6 key6; /* valid if the verdict is PARSE_IPV6 */
	bool fragment;    /* any fragment, also the first; NICs hash only its addresses */
	/*
	 * Valid for packets with a key: offsets of the IP header and of the header after it and its
	 * extension headers. transport_at may exceed the packet.
	 */
	size_t ip_at, transport_at;
	/* valid for packets with a key, except in_port */
	struct key_extra extra;
	/*
	 * Length of the prefix that determines the result, at most len: all packets with the same
	 * first `need` bytes have the same verdict, key and fields above.
	 */
	uint32_t need;
	bool cut; /* truncated: more bytes may change the result */
};

/* Parses a complete packet of len bytes by all rules above. */
enum parse_verdict parse_packet(
	const uint8_t *data, uint32_t len, enum link_type link, struct parsed *out);

/*
 * Unknown length on the wire. IP after MPLS labels is then checked against `len`, so the result
 * depends on more than the first `need` bytes.
 */
#define PARSE_WIRE_UNKNOWN UINT32_MAX

/* As parse_packet(), for a packet of which the first `len` bytes were captured. */
enum parse_verdict parse_captured(const uint8_t *data, uint32_t len, uint32_t wire_len,
	enum link_type link, struct parsed *out);

#define PARSE_MISSING_UNKNOWN UINT32_MAX
#define PARSE_IPV6_HEADER     40 /* bytes */

/* As parse_missing_bytes(), for packets that lack bytes or have no length in their header. */
uint32_t parse_missing_of_any(const uint8_t *data, uint32_t captured, uint32_t wire_len,
	uint32_t snaplen, const struct parsed *parsed);

/*
 * Returns the number of bytes that a packet with a key may have had on the wire beyond `wire_len`,
 * or PARSE_MISSING_UNKNOWN if no header has its length. Such packets are joined segments (TSO, GRO)
 * that the source truncated: the length in the IP header is larger than wire_len, and the source
 * reports no other length. If captured < wire_len, the source knows the length. snaplen: maximum
 * captured bytes of a packet; 0: no limit.
 */
static inline uint32_t parse_missing_bytes(const uint8_t *data, uint32_t captured,
	uint32_t wire_len, uint32_t snaplen, const struct parsed *parsed)
{
	const uint8_t *ip = data + parsed->ip_at;
	bool ipv6 = ip[0] >> 4 == 6;
	uint32_t length = ipv6 ? (uint32_t)(ip[4] << 8 | ip[5]) : (uint32_t)(ip[2] << 8 | ip[3]);

	if (captured < wire_len)
		return 0;
	/* The common case: the packet is complete. */
	if (captured == wire_len && length > 0 &&
		parsed->ip_at + length + (ipv6 ? PARSE_IPV6_HEADER : 0) <= captured)
		return 0;
	return parse_missing_of_any(data, captured, wire_len, snaplen, parsed);
}

/* Sets the fields of an IPv4 header as parse_packet() does, without those of outer headers. */
void parse_ipv4_extra(const uint8_t *header, struct key_extra *extra);
