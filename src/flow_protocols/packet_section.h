/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Reads partial packets that exporters send: the sampled header of sFlow, and packet sections of
 * IPFIX (RFC 5477, RFC 7133) and NetFlow v9, with the parser of the packet path. Pure functions.
 */

#include <net/ethernet.h>
#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/big_endian.h"
#include "flow_protocols/fields.h"
#include "key/key.h"
#include "rx/packet/link_type.h"
#include "rx/packet/parse.h"

struct packet_part {
	const uint8_t *data;
	uint32_t len;
	enum link_type link;
	uint32_t frame;    /* bytes of the packet on the wire; 0: unknown */
	uint32_t stripped; /* bytes that the exporter stripped, at both ends of the frame */
};

struct packet_flow {
	struct key key;
	struct key_extra extra;
	uint64_t bytes;   /* layer 3; 0: unknown */
	uint8_t ttl;      /* TTL or hop limit */
	uint16_t segment; /* hash of the MAC addresses; 0: unknown */
};

/* Result of reading. The smallest value of several sections counts. */
enum section_verdict {
	SECTION_FLOW,
	SECTION_CUT, /* truncated or inconsistent */
	SECTION_NON_IP,
	SECTION_OFFSET, /* no section has the start of its header */
	SECTION_OTHER,  /* no section with a supported header */
};

#define ETHERNET_HEADER     14
#define PART_IPV6_HEADER    40
#define PART_IPV4_TTL       8 /* offset in the header */
#define PART_IPV6_HOP_LIMIT 7
#define PART_PADDING_MAX    64 /* bytes of padding and trailer in a frame */

/* Returns true if the header is truncated before the ports: the flow is unknown. */
static inline bool ports_are_cut(const struct parsed *parsed, uint32_t len, uint64_t bytes)
{
	return parsed->cut && parsed->transport_at + 4 > len &&
	       (bytes == 0 || bytes >= parsed->transport_at - parsed->ip_at + 4);
}

/*
 * Returns the layer 3 bytes of the packet; 0: unknown. A sender may write any length into an IP
 * header. If it exceeds the frame, or leaves more of the frame than padding and trailer, the frame
 * length counts. Some agents subtract the stripped bytes from the frame length.
 */
static inline uint64_t layer3_bytes(const struct packet_part *part, bool ipv6, uint64_t ip_at)
{
	const uint8_t *ip = part->data + ip_at;
	uint64_t outside = part->stripped + ip_at, seen = part->len - ip_at;
	uint64_t told = ipv6 ? read_u16(ip + 4) : read_u16(ip + 2);
	uint64_t room = part->frame > outside ? part->frame - outside : 0;

	/* 0: a jumbogram, or a packet that the card segments. */
	if (told == 0)
		return room;
	told += ipv6 ? PART_IPV6_HEADER : 0;
	if (room < seen)
		room = seen;
	if (part->frame == 0 || (told <= room + part->stripped && room <= told + PART_PADDING_MAX))
		return told;
	return room;
}

/*
 * Returns a hash of the MAC addresses of an IP packet in an Ethernet frame, or 0. The TTL of IP
 * counts the segments that a packet passes, but not under labels and in tunnels: then it returns 0.
 */
static inline uint16_t segment_of(const struct packet_part *part, uint64_t ip_at)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
	uint16_t type;

	if (part->link != LINK_ETHERNET || ip_at < ETHERNET_HEADER)
		return 0;
	type = (uint16_t)read_u16(part->data + ip_at - 2);
	if (type != ETHERTYPE_IP && type != ETHERTYPE_IPV6)
		return 0;
	return (uint16_t)(((read_u64(part->data) * odd ^ read_u32(part->data + 8)) * odd) >> 48 |
			  1);
}

/*
 * Reads the headers of one part. `extra` holds the fields found before the verdict, whatever it is.
 * The rest, as in struct packet_flow, is set only with SECTION_FLOW. SECTION_CUT includes a packet
 * with truncated ports.
 */
static inline enum section_verdict packet_part_read(const struct packet_part *part, struct key *key,
	struct key_extra *extra, uint64_t *bytes, uint8_t *ttl, uint16_t *segment)
{
	struct parsed parsed;
	enum parse_verdict verdict = parse_captured(part->data, part->len,
		part->frame > 0 ? part->frame : PARSE_WIRE_UNKNOWN, part->link, &parsed);

	*extra = parsed.extra;
	if (verdict != PARSE_IPV4 && verdict != PARSE_IPV6) {
		/* An IP header of another version is malformed. */
		return verdict == PARSE_NON_IP && part->link != LINK_RAW ? SECTION_NON_IP
									 : SECTION_CUT;
	}
	*bytes = layer3_bytes(part, verdict == PARSE_IPV6, parsed.ip_at);
	*ttl = part->data[parsed.ip_at +
			  (verdict == PARSE_IPV6 ? PART_IPV6_HOP_LIMIT : PART_IPV4_TTL)];
	*segment = segment_of(part, parsed.ip_at);
	if (ports_are_cut(&parsed, part->len, *bytes))
		return SECTION_CUT;
	if (verdict == PARSE_IPV4)
		*key = (struct key){.v4 = parsed.key4, .family = KEY_IPV4};
	else
		*key = (struct key){.v6 = parsed.key6, .family = KEY_IPV6};
	return SECTION_FLOW;
}

/* Elements of IPFIX and NetFlow v9 (102 to 104) that describe one packet. */
enum section_element {
	SECTION_OFFSET_OF_V9 = 102,    /* layer2packetSectionOffset */
	SECTION_SIZE_OF_V9 = 103,      /* layer2packetSectionSize */
	SECTION_OF_V9 = 104,           /* layer2packetSectionData */
	SECTION_IP_LENGTH = 224,       /* ipTotalLength */
	SECTION_SELECTION = 301,       /* selectionSequenceId: packets were selected (RFC 5476) */
	SECTION_FRAME_SIZE = 312,      /* dataLinkFrameSize */
	SECTION_IP_HEADER = 313,       /* ipHeaderPacketSection */
	SECTION_IP_PAYLOAD = 314,      /* ipPayloadPacketSection */
	SECTION_FRAME = 315,           /* dataLinkFrameSection */
	SECTION_LABELS = 316,          /* mplsLabelStackSection */
	SECTION_MPLS_PAYLOAD = 317,    /* mplsPayloadPacketSection */
	SECTION_FRAME_TYPE = 408,      /* dataLinkFrameType */
	SECTION_OFFSET_OF_IPFIX = 409, /* sectionOffset */
	SECTION_EXPORTED = 410,        /* sectionExportedOctets */
};

/* Returns true if the field holds bytes of the packet. */
bool section_is_data(const struct field *field);
/* Returns true if the field holds a header that packet_part_read() can read. */
bool section_is_header(const struct field *field);
/* Returns true if a record with this field and without counters is one packet. */
bool section_is_report(const struct field *field);

#define SECTIONS_MAX 8 /* sections per record; more are ignored */

struct section {
	uint16_t element;
	uint16_t offset; /* bytes of the header before the section */
	uint32_t len;
	const uint8_t *data;
};

/* Sections of one record. The caller clears it. */
struct sections {
	struct section list[SECTIONS_MAX];
	uint32_t n;
	/* RFC 7133: the nth offset belongs to the nth section. */
	uint16_t offsets[SECTIONS_MAX], exported[SECTIONS_MAX];
	uint32_t nb_offsets, nb_exported;
	uint32_t frame;     /* bytes; 0: unknown */
	uint32_t type;      /* dataLinkFrameType; 0: not given */
	uint64_t ip_length; /* bytes; 0: unknown */
};

/* Adds a field of the record. */
void sections_add(
	struct sections *sections, const struct field *field, const uint8_t *data, uint32_t len);

/* Reads the packet after all fields were added. Missing fields of `flow` are 0. */
enum section_verdict sections_read(struct sections *sections, struct packet_flow *flow);
