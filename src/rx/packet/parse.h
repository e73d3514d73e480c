/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Parses packet headers into keys. Rules:
 *
 *  - Ethernet, SLL, SLL2: all VLAN tags (EtherTypes 0x8100, 0x88a8, 0x9100, 0x9200) are skipped.
 *    After EtherTypes 0x8847 and 0x8848, all MPLS labels are skipped. An IP packet follows the
 *    labels if the next nibble is its version, and its length and checksum are correct. Other
 *    packets are non-IP.
 *  - An IPv4 header needs version 4, IHL >= 5 and IHL * 4 captured bytes. An IPv6 header needs
 *    version 6 and 40 captured bytes. Without labels, lengths and checksums are not verified.
 *  - IPv6 extension headers (0, 43, 44, 51, 60) are skipped, up to PARSE_IPV6_EXTENSIONS_MAX. The
 *    protocol of the key is the header after them.
 *  - Ports are those of TCP, UDP and SCTP. They are 0 for other protocols, in all fragments but the
 *    first, and if less than four bytes follow the IP header.
 *  - The outermost IP header gives the key. The contents of tunnels are not parsed.
 *
 * The parser reads only captured bytes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "key/key.h"
#include "rx/packet/link_type.h"

#define PARSE_IPV6_EXTENSIONS_MAX 8
/* Bytes of the TCP window. The parser reads the TCP flags, but not the window after them. */
#define PARSE_TCP_BEYOND          2

/* Result of parsing a packet. Each reason for a rejection has a value of its own. */
enum parse_verdict {
	PARSE_IPV4,
	PARSE_IPV6,
	PARSE_NON_IP,
	PARSE_CUT_LINK,       /* truncated link header or VLAN tag */
	PARSE_CUT_MPLS,       /* truncated label stack, or no byte after it */
	PARSE_CUT_IP,         /* truncated IP header */
	PARSE_BAD_VERSION,    /* the version nibble contradicts the EtherType */
	PARSE_BAD_IHL,        /* below 5, or longer than the captured bytes */
	PARSE_CUT_EXTENSION,  /* truncated IPv6 extension header */
	PARSE_LONG_EXTENSION, /* too many extension headers for the parser or the source */
	PARSE_VERDICT_COUNT,
};

/* Column of a verdict in the packet ledger */
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
	bool fragment;    /* true for all fragments, including the first */
	/*
	 * Offsets of the IP header and of the transport header. Valid for packets with a key.
	 * transport_at may be beyond the packet.
	 */
	size_t ip_at, transport_at;
	/* valid for packets with a key; the caller sets in_port */
	struct key_extra extra;
	/*
	 * Number of first bytes that decide the result, at most the captured length. All packets
	 * with the same first `need` bytes have the same verdict, key and fields above.
	 */
	uint32_t need;
	bool cut; /* true if more captured bytes may change the result */
};

/* Parses a complete packet of len bytes by all rules above. */
enum parse_verdict parse_packet(
	const uint8_t *data, uint32_t len, enum link_type link, struct parsed *out);

/*
 * Value of wire_len if the length on the wire is unknown. After MPLS labels, the parser then
 * compares the length of an IP packet with the captured length. So these packets depend on more
 * than their first `need` bytes.
 */
#define PARSE_WIRE_UNKNOWN UINT32_MAX

/* Like parse_packet(), for a packet whose first `len` bytes were captured. */
enum parse_verdict parse_captured(const uint8_t *data, uint32_t len, uint32_t wire_len,
	enum link_type link, struct parsed *out);

#define PARSE_MISSING_UNKNOWN UINT32_MAX
#define PARSE_IPV6_HEADER     40 /* bytes */

/*
 * Slow path of parse_missing_bytes(), for packets that are incomplete or whose IP header has no
 * length.
 */
uint32_t parse_missing_of_any(const uint8_t *data, uint32_t captured, uint32_t wire_len,
	uint32_t snaplen, const struct parsed *parsed);

/*
 * Returns the number of bytes on the wire that `wire_len` does not include; usually 0. The packet
 * must have a key. Returns PARSE_MISSING_UNKNOWN if no header has the length of the packet.
 *
 * Bytes are missing in packets of joined segments (TSO, GRO) that the source truncated without
 * reporting their length on the wire. Their IP header has a length above wire_len. If captured <
 * wire_len, the source did report the length on the wire. snaplen: maximum captured bytes of a
 * packet; 0: no limit.
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

/* Sets the fields that come from an IPv4 header, as parse_packet() does. */
void parse_ipv4_extra(const uint8_t *header, struct key_extra *extra);
