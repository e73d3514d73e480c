/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * From headers to keys. The key rule:
 *
 * - Ethernet, SLL, SLL2: VLAN tags (0x8100, 0x88a8, 0x9100, 0x9200) are skipped, however many;
 * after 0x8847/0x8848 the MPLS labels down to the bottom of the stack, then the next nibble is the
 * IP version, if length and checksum are those of an IP header. Any other packet is non-IP.
 * - IPv4 needs its 20 bytes, version 4, IHL >= 5 and IHL * 4 bytes; IPv6 its 40 bytes and
 * version 6. Without labels, checksums and total lengths are not looked at.
 * - IPv6 extension headers (0, 43, 44, 51, 60) are walked, at most PARSE_IPV6_EXTENSIONS_MAX; proto
 * is the header after them.
 * - Ports are those of TCP, UDP and SCTP; 0 in any fragment but the first, and where fewer than
 * four bytes follow the IP header.
 * - The outermost IP header counts; tunnels are not entered.
 *
 * Nothing outside the len captured bytes is read.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "key/key.h"
#include "rx/packet/link_type.h"

#define PARSE_IPV6_EXTENSIONS_MAX 8
#define PARSE_TCP_BEYOND          2 /* bytes of a TCP header behind `need`, with its window */

/* Result of parsing a packet. Each rejection has its own value; parse_verdicts[] groups them. */
enum parse_verdict {
	PARSE_IPV4,
	PARSE_IPV6,
	PARSE_NON_IP,
	PARSE_CUT_LINK,       /* the link header or a VLAN tag is cut */
	PARSE_CUT_MPLS,       /* no bottom of stack, or nothing after it */
	PARSE_CUT_IP,         /* less than an IP header */
	PARSE_BAD_VERSION,    /* the version nibble contradicts the EtherType */
	PARSE_BAD_IHL,        /* below 5, or more than was captured */
	PARSE_CUT_EXTENSION,  /* an IPv6 extension header is cut */
	PARSE_LONG_EXTENSION, /* more extension headers than the bound, or than a source brings */
	PARSE_VERDICT_COUNT,
};

/* The ledger column that a verdict belongs to. */
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
	struct key4 key4; /* where the verdict is PARSE_IPV4 */
	struct key6 key6; /* where the verdict is PARSE_IPV6 */
	bool fragment; /* any fragment, including the first: NICs distribute fragments only by addresses */
	/*
	 * Where, of a packet with a key, its IP header begins, and what follows it and its
	 * extension headers; that may be beyond the packet.
	 */
	size_t ip_at, transport_at;
	/* Fields of a packet with a key, except in_port. */
	struct key_extra extra;
	/*
	 * Bytes that decided: the first `need` bytes of the packet give the same verdict, key and
	 * all of the above as the whole, whatever follows. Never more than len.
	 */
	uint32_t need;
	bool cut; /* truncated: more bytes might change the result */
};

/* The whole rule, plainly. data[0..len) are the captured bytes. */
enum parse_verdict parse_packet(
	const uint8_t *data, uint32_t len, enum link_type link, struct parsed *out);

/* Length on the wire. IP after labels is then compared with `len`, so `need` does not decide. */
#define PARSE_WIRE_UNKNOWN UINT32_MAX

/* The same of a packet of which the first `len` bytes were captured. */
enum parse_verdict parse_captured(const uint8_t *data, uint32_t len, uint32_t wire_len,
	enum link_type link, struct parsed *out);

#define PARSE_MISSING_UNKNOWN UINT32_MAX
#define PARSE_IPV6_HEADER     40 /* bytes */

/* As parse_missing_bytes(), for any packet that lacks bytes or whose header has no length. */
uint32_t parse_missing_of_any(const uint8_t *data, uint32_t captured, uint32_t wire_len,
	uint32_t snaplen, const struct parsed *parsed);

/*
 * Returns the bytes that a packet with a key may have had on the wire beyond `wire_len`, which is
 * all that its source has of its length: joined segments (TSO, GRO) that the source cut, and whose
 * IP header has a longer packet. 0: none. PARSE_MISSING_UNKNOWN: no header has the length. A
 * source that has captured less than `wire_len` knows the length. snaplen: bytes of a packet that
 * the source keeps at most; 0: all.
 */
static inline uint32_t parse_missing_bytes(const uint8_t *data, uint32_t captured,
	uint32_t wire_len, uint32_t snaplen, const struct parsed *parsed)
{
	const uint8_t *ip = data + parsed->ip_at;
	bool ipv6 = ip[0] >> 4 == 6;
	uint32_t length = ipv6 ? (uint32_t)(ip[4] << 8 | ip[5]) : (uint32_t)(ip[2] << 8 | ip[3]);

	if (captured < wire_len)
		return 0;
	/* Nearly every packet: all of it is there. */
	if (captured == wire_len && length > 0 &&
		parsed->ip_at + length + (ipv6 ? PARSE_IPV6_HEADER : 0) <= captured)
		return 0;
	return parse_missing_of_any(data, captured, wire_len, snaplen, parsed);
}

/* Reads the fields of an IPv4 header as parse_packet(), without outer headers. */
void parse_ipv4_extra(const uint8_t *header, struct key_extra *extra);
