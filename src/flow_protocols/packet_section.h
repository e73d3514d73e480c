/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Reads truncated packets in sFlow samples, IPFIX (RFC 5477, RFC 7133) and NetFlow v9. */

#include <net/ethernet.h>
#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/big_endian.h"
#include "flow_protocols/fields.h"
#include "key/key.h"
#include "rx/packet/link_type.h"
#include "rx/packet/parse.h"
#include "rx/packet/plain.h"

struct packet_part {
	const uint8_t *data;
	uint32_t len;
	enum link_type link;
	uint32_t frame; /* bytes of the packet on the wire; 0: unknown */
	/* bytes removed from both ends of the frame */
	uint32_t stripped;
};

struct packet_flow {
	struct key key;
	struct key_extra extra;
	uint64_t bytes; /* layer 3; 0: unknown */
	uint8_t ttl;
	uint16_t segment; /* hash of the MAC addresses; 0: unknown */
};

/* If sections of a packet differ in their result, the smallest value counts. */
enum section_verdict {
	SECTION_FLOW,
	SECTION_CUT,
	SECTION_NON_IP,
	SECTION_OFFSET, /* no section begins with a header */
	SECTION_OTHER,  /* no section contains a supported header */
};

#define ETHERNET_HEADER     14
#define PART_IPV6_HEADER    40
#define PART_IPV4_TTL       8
#define PART_IPV6_HOP_LIMIT 7
#define PART_PADDING_MAX    64 /* bytes of padding and trailer after the IP packet */

/* Returns true if the sampled bytes end before the ports. */
static inline bool ports_are_cut(const struct parsed *parsed, uint32_t len, uint64_t bytes)
{
	return parsed->cut && parsed->transport_at + 4 > len &&
	       (bytes == 0 || bytes >= parsed->transport_at - parsed->ip_at + 4);
}

/*
 * Returns 0 if unknown. The IP header may be forged: its length counts only if the packet fits in
 * the frame and at most PART_PADDING_MAX bytes follow it. Some agents subtract the stripped bytes
 * from the frame length.
 */
static inline uint64_t layer3_bytes(const struct packet_part *part, bool ipv6, uint64_t ip_at)
{
	const uint8_t *ip = part->data + ip_at;
	uint64_t outside = part->stripped + ip_at, seen = part->len - ip_at;
	uint64_t ip_len = ipv6 ? read_u16(ip + 4) : read_u16(ip + 2);
	uint64_t room = part->frame > outside ? part->frame - outside : 0;

	/* Jumbograms and packets that the network card segments have length 0. */
	if (ip_len == 0)
		return room;
	ip_len += ipv6 ? PART_IPV6_HEADER : 0;
	if (room < seen)
		room = seen;
	if (part->frame == 0 ||
		(ip_len <= room + part->stripped && room <= ip_len + PART_PADDING_MAX))
		return ip_len;
	return room;
}

/* `frame` begins with an Ethernet header. */
static inline uint16_t segment_of(const uint8_t *frame)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);

	return (uint16_t)(((read_u64(frame) * odd ^ read_u32(frame + 8)) * odd) >> 48 | 1);
}

/* Returns false under labels and in tunnels, where the TTL does not count network segments. */
static inline bool has_segment(const struct packet_part *part, uint64_t ip_at)
{
	uint16_t type;

	if (part->link != LINK_ETHERNET || ip_at < ETHERNET_HEADER)
		return false;
	type = read_u16(part->data + ip_at - 2);
	return type == ETHERTYPE_IP || type == ETHERTYPE_IPV6;
}

/*
 * Reads the most common packet as packet_part_parse() would, in half the time. Returns false, and
 * sets nothing, for other packets.
 */
static inline bool packet_part_read_plain(const struct packet_part *part, struct key *key,
	struct key_extra *extra, uint64_t *bytes, uint8_t *ttl, uint16_t *segment)
{
	if (part->link != LINK_ETHERNET || !plain_is_ipv4(part->data, part->len))
		return false;
	*bytes = layer3_bytes(part, false, PLAIN_IP_AT);
	*ttl = part->data[PLAIN_IP_AT + PART_IPV4_TTL];
	*segment = segment_of(part->data);
	*extra = (struct key_extra){.tcp_flags = {plain_tcp_flags(part->data, part->len)}};
	key_extra_set_tos(extra, part->data[PLAIN_IP_AT + 1]);
	*key = (struct key){.family = KEY_IPV4};
	plain_ipv4_key(part->data, &key->v4);
	return true;
}

/* Without SECTION_FLOW, only `extra` is set. Truncated ports give SECTION_CUT. */
static inline enum section_verdict packet_part_parse(const struct packet_part *part,
	struct key *key, struct key_extra *extra, uint64_t *bytes, uint8_t *ttl, uint16_t *segment)
{
	struct parsed parsed;
	enum parse_verdict verdict = parse_captured(part->data, part->len,
		part->frame > 0 ? part->frame : PARSE_WIRE_UNKNOWN, part->link, &parsed);

	*extra = parsed.extra;
	if (verdict != PARSE_IPV4 && verdict != PARSE_IPV6) {
		/*
		 * With LINK_RAW, data begins with an IP header, so a version other than 4 or 6 is
		 * an error.
		 */
		return verdict == PARSE_NON_IP && part->link != LINK_RAW ? SECTION_NON_IP
									 : SECTION_CUT;
	}
	*bytes = layer3_bytes(part, verdict == PARSE_IPV6, parsed.ip_at);
	*ttl = part->data[parsed.ip_at +
			  (verdict == PARSE_IPV6 ? PART_IPV6_HOP_LIMIT : PART_IPV4_TTL)];
	*segment = has_segment(part, parsed.ip_at) ? segment_of(part->data) : 0;
	if (ports_are_cut(&parsed, part->len, *bytes))
		return SECTION_CUT;
	if (verdict == PARSE_IPV4)
		*key = (struct key){.v4 = parsed.key4, .family = KEY_IPV4};
	else
		*key = (struct key){.v6 = parsed.key6, .family = KEY_IPV6};
	return SECTION_FLOW;
}

static inline enum section_verdict packet_part_read(const struct packet_part *part, struct key *key,
	struct key_extra *extra, uint64_t *bytes, uint8_t *ttl, uint16_t *segment)
{
	if (packet_part_read_plain(part, key, extra, bytes, ttl, segment))
		return SECTION_FLOW;
	return packet_part_parse(part, key, extra, bytes, ttl, segment);
}

/* IANA information elements about one packet. NetFlow v9 uses 102 to 104. */
enum section_element {
	SECTION_OFFSET_OF_V9 = 102,
	SECTION_SIZE_OF_V9 = 103,
	SECTION_OF_V9 = 104,
	SECTION_IP_LENGTH = 224,
	SECTION_SELECTION = 301, /* selectionSequenceId (RFC 5476) */
	SECTION_FRAME_SIZE = 312,
	SECTION_IP_HEADER = 313,
	SECTION_IP_PAYLOAD = 314,
	SECTION_FRAME = 315,
	SECTION_LABELS = 316,
	SECTION_MPLS_PAYLOAD = 317,
	SECTION_FRAME_TYPE = 408,
	SECTION_OFFSET_OF_IPFIX = 409,
	SECTION_EXPORTED = 410,
};

/* Returns true if the field holds bytes of the packet. */
bool section_is_data(const struct field *field);
/* Returns true if the field holds a header that packet_part_read() can read. */
bool section_is_header(const struct field *field);
/* Returns true if records with this field, and without counters, describe one packet. */
bool section_is_report(const struct field *field);

#define SECTIONS_MAX 8

struct section {
	uint16_t element;
	uint16_t offset; /* bytes of the header that precede the section */
	uint32_t len;
	const uint8_t *data;
};

struct sections {
	struct section list[SECTIONS_MAX];
	uint32_t n;
	/* The nth value applies to the nth section (RFC 7133). */
	uint16_t offsets[SECTIONS_MAX], exported[SECTIONS_MAX];
	uint32_t nb_offsets, nb_exported;
	uint32_t frame;     /* bytes; 0: unknown */
	uint32_t type;      /* dataLinkFrameType; 0: unknown */
	uint64_t ip_length; /* bytes; 0: unknown */
};

void sections_add(
	struct sections *sections, const struct field *field, const uint8_t *data, uint32_t len);

/* Missing fields of `flow` are 0. */
enum section_verdict sections_read(struct sections *sections, struct packet_flow *flow);
