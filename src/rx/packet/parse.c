/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/packet/parse.h"

#include <endian.h>
#include <stddef.h>
#include <string.h>

#include "base/assertion.h"

enum {
	TYPE_NONE = 0,
	TYPE_IPV4 = 0x0800,
	TYPE_ARP = 0x0806,
	TYPE_IPV6 = 0x86dd,
	TYPE_MPLS = 0x8847,
	TYPE_MPLS_MULTICAST = 0x8848,
	TYPE_VLAN = 0x8100,
	TYPE_QINQ = 0x88a8,
	TYPE_QINQ_OLD1 = 0x9100,
	TYPE_QINQ_OLD2 = 0x9200,
};

enum {
	PPP_IPV4 = 0x0021,
	PPP_IPV6 = 0x0057,
	PPP_MPLS = 0x0281,
};

/* Address families in NULL and LOOP headers. Each system has its own number for IPv6. */
enum {
	FAMILY_INET = 2,
	FAMILY_INET6_LINUX = 10,
	FAMILY_INET6_NETBSD = 24,
	FAMILY_INET6_FREEBSD = 28,
	FAMILY_INET6_DARWIN = 30,
};

enum {
	PROTO_HOP_BY_HOP = 0,
	PROTO_TCP = 6,
	PROTO_UDP = 17,
	PROTO_ROUTING = 43,
	PROTO_FRAGMENT = 44,
	PROTO_AH = 51,
	PROTO_NONE = 59,
	PROTO_DESTINATION = 60,
	PROTO_SCTP = 132,
};

/* IPv6 options (RFC 8200, section 4.2; RFC 2675, section 2) */
enum {
	OPTION_PAD1 = 0,
	OPTION_JUMBO = 0xc2,
};

/* The "explicit null" labels imply the IP version (RFC 3032, section 2.1). */
#define MPLS_IPV4_NULL 0
#define MPLS_IPV6_NULL 2

#define VLAN_ID          0x0fff
#define MPLS_LABEL_SHIFT 12

#define IPV4_HEADER   20
#define IPV6_HEADER   40
#define TCP_FLAGS_AT  13     /* offset in the TCP header */
#define IPV4_OFFSET   0x1fff /* mask; the offset is in units of 8 bytes */
#define IPV4_FRAGMENT 0x3fff /* mask of the offset and the "more fragments" flag */

#define ETHERNET_PAYLOAD_MIN 46
#define ETHERNET_PAYLOAD_MAX 1500
#define TRAILER_MAX          64 /* maximum bytes of padding, FCS and switch trailer */

const struct parse_verdict_row parse_verdicts[PARSE_VERDICT_COUNT] = {
	[PARSE_IPV4] = {"ipv4", PARSE_CLASS_KEY},
	[PARSE_IPV6] = {"ipv6", PARSE_CLASS_KEY},
	[PARSE_NON_IP] = {"non-ip", PARSE_CLASS_NON_IP},
	[PARSE_CUT_LINK] = {"cut-link", PARSE_CLASS_MALFORMED},
	[PARSE_CUT_MPLS] = {"cut-mpls", PARSE_CLASS_MALFORMED},
	[PARSE_CUT_IP] = {"cut-ip", PARSE_CLASS_MALFORMED},
	[PARSE_BAD_VERSION] = {"bad-version", PARSE_CLASS_MALFORMED},
	[PARSE_BAD_IHL] = {"bad-ihl", PARSE_CLASS_MALFORMED},
	[PARSE_CUT_EXTENSION] = {"cut-extension", PARSE_CLASS_MALFORMED},
	[PARSE_LONG_EXTENSION] = {"long-extension", PARSE_CLASS_MALFORMED},
};

/*
 * Only has() reads `len`, and the parser reads only bytes for which has() returned true. So the
 * first `need` bytes decide the result.
 *
 * Proof: parse the packet again, truncated to `need` bytes. If a has() returned true, it asked for
 * at most `need` bytes, so it returns true again. If it returned false, it asked for more than
 * `len` bytes, so it returns false again. The parser takes the same branches.
 */
struct parse_state {
	const uint8_t *data;
	size_t len;
	/* Bytes on the wire, or PARSE_WIRE_UNKNOWN */
	size_t wire_len;
	size_t need;
	bool cut; /* a byte was requested beyond `len` */
	struct key_extra *extra;
};

/* Returns true if the first `bytes` bytes of the packet were captured. */
static inline bool has(struct parse_state *packet, size_t bytes)
{
	if (packet->len < bytes) {
		packet->cut = true;
		return false;
	}
	if (packet->need < bytes)
		packet->need = bytes;
	return true;
}

static inline uint32_t be16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static inline uint32_t be32(const uint8_t *p)
{
	return be16(p) << 16 | be16(p + 2);
}

static inline void put_number(uint8_t *to, size_t n, uint32_t number)
{
	for (size_t i = n; i-- > 0; number >>= 8)
		to[i] = (uint8_t)number;
}

static inline uint32_t type_of_version(uint8_t first_byte)
{
	switch (first_byte >> 4) {
	case 4: return TYPE_IPV4;
	case 6: return TYPE_IPV6;
	default: return TYPE_NONE;
	}
}

static inline bool is_vlan(uint32_t type)
{
	return type == TYPE_VLAN || type == TYPE_QINQ || type == TYPE_QINQ_OLD1 ||
	       type == TYPE_QINQ_OLD2;
}

/*
 * Each skip_ function sets *at to the offset of the next layer, and *type to its EtherType. It
 * returns false if the layer is truncated.
 */

static bool skip_vlans(struct parse_state *packet, size_t *at, uint32_t *type)
{
	for (bool outermost = true; is_vlan(*type); outermost = false) {
		if (!has(packet, *at + 4))
			return false;
		if (outermost)
			put_number(packet->extra->vlan, 2, be16(packet->data + *at) & VLAN_ID);
		*type = be16(packet->data + *at + 2);
		*at += 4;
	}
	return true;
}

/* `header` bytes, with the EtherType at `type_at`, are followed by VLAN tags. */
static inline bool skip_tagged(
	struct parse_state *packet, size_t header, size_t type_at, size_t *at, uint32_t *type)
{
	if (!has(packet, header))
		return false;
	*type = be16(packet->data + type_at);
	*at = header;
	return skip_vlans(packet, at, type);
}

/* NULL headers have the byte order of the capturing host, LOOP headers network byte order. */
static bool skip_null(struct parse_state *packet, size_t *at, uint32_t *type)
{
	uint32_t family;

	if (!has(packet, 4))
		return false;
	family = be32(packet->data);
	if (__builtin_bswap32(family) < 0x10000)
		family = __builtin_bswap32(family);
	switch (family) {
	case FAMILY_INET: *type = TYPE_IPV4; break;
	case FAMILY_INET6_LINUX:
	case FAMILY_INET6_NETBSD:
	case FAMILY_INET6_FREEBSD:
	case FAMILY_INET6_DARWIN: *type = TYPE_IPV6; break;
	default: *type = TYPE_NONE;
	}
	*at = 4;
	return true;
}

/* The address byte FF and the control byte 03 may be missing (RFC 1662). */
static bool skip_ppp(struct parse_state *packet, size_t *at, uint32_t *type)
{
	const uint8_t *data = packet->data;
	size_t protocol_at = has(packet, 2) && data[0] == 0xff && data[1] == 0x03 ? 2 : 0;

	if (!has(packet, protocol_at + 2))
		return false;
	switch (be16(data + protocol_at)) {
	case PPP_IPV4: *type = TYPE_IPV4; break;
	case PPP_IPV6: *type = TYPE_IPV6; break;
	case PPP_MPLS: *type = TYPE_MPLS; break;
	default: *type = TYPE_NONE;
	}
	*at = protocol_at + 2;
	return true;
}

static bool skip_c_hdlc(struct parse_state *packet, size_t *at, uint32_t *type)
{
	if (!has(packet, 4))
		return false;
	*type = be16(packet->data + 2);
	*at = 4;
	return true;
}

static bool skip_nothing(struct parse_state *packet, size_t *at, uint32_t *type)
{
	if (!has(packet, 1))
		return false;
	*type = type_of_version(packet->data[0]);
	*at = 0;
	return true;
}

static inline bool skip_link(
	struct parse_state *packet, enum link_type link, size_t *at, uint32_t *type)
{
	switch (link) {
	case LINK_ETHERNET: return skip_tagged(packet, 14, 12, at, type);
	case LINK_SLL: return skip_tagged(packet, 16, 14, at, type);
	case LINK_SLL2: return skip_tagged(packet, 20, 0, at, type);
	case LINK_RAW: return skip_nothing(packet, at, type);
	case LINK_NULL: return skip_null(packet, at, type);
	case LINK_PPP: return skip_ppp(packet, at, type);
	case LINK_C_HDLC: return skip_c_hdlc(packet, at, type);
	case LINK_MPLS:
		*type = TYPE_MPLS;
		*at = 0;
		return true;
	case LINK_UNKNOWN:
	case LINK_COUNT: break;
	}
	*type = TYPE_NONE;
	*at = 0;
	return true;
}

/* The sum includes the checksum, so it is 0xffff if correct (RFC 791). */
static bool has_right_checksum(const uint8_t *header)
{
	size_t header_len = (size_t)(header[0] & 15) * 4;
	uint32_t sum = 0;

	for (size_t i = 0; i < header_len; i += 2)
		sum += be16(header + i);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

/* Returns the length in the jumbo payload option of an IPv6 options header; 0: no such option. */
static uint32_t jumbo_payload(const uint8_t *header, size_t len)
{
	size_t end = len >= 2 ? (header[1] + 1u) * 8 : 0;

	if (end > len)
		end = len;
	for (size_t at = 2; at + 2 <= end;) {
		if (header[at] == OPTION_PAD1) {
			at++;
			continue;
		}
		if (header[at] == OPTION_JUMBO)
			return header[at + 1] == 4 && at + 6 <= end ? be32(header + at + 2) : 0;
		at += 2u + header[at + 1];
	}
	return 0;
}

/* Returns 0 if no header has the length. With TSO, the length field is 0 above 65535 bytes. */
static uint64_t ip_packet_length(const uint8_t *ip, size_t len)
{
	uint32_t payload;

	if (ip[0] >> 4 != 6)
		return be16(ip + 2);
	payload = be16(ip + 4);
	if (payload > 0 || ip[6] == PROTO_NONE)
		return (uint64_t)IPV6_HEADER + payload;
	if (ip[6] == PROTO_HOP_BY_HOP)
		payload = jumbo_payload(ip + IPV6_HEADER, len - IPV6_HEADER);
	return payload > UINT16_MAX ? (uint64_t)IPV6_HEADER + payload : 0;
}

/* Returns bytes on the wire. */
static uint64_t frame_left(const struct parse_state *packet, size_t at)
{
	bool known = packet->wire_len != PARSE_WIRE_UNKNOWN;

	return (known && packet->wire_len > packet->len ? packet->wire_len : packet->len) - at;
}

/* Returns true if the IP packet fills the frame, except for a short trailer. */
static bool fills(const struct parse_state *packet, size_t at, uint64_t length)
{
	uint64_t left = frame_left(packet, at);

	return (length <= left || packet->wire_len == PARSE_WIRE_UNKNOWN) &&
	       left <= length + TRAILER_MAX;
}

/*
 * The first nibble is 4. A pseudowire frame without a control word may begin with a MAC address,
 * with the same nibble (RFC 4448, section 4.6). If the checksum is 0, the NIC computes it after the
 * capture, so the length must match the frame exactly.
 */
static bool is_ipv4_after_labels(struct parse_state *packet, size_t at)
{
	const uint8_t *header = packet->data + at;
	uint64_t header_len = (header[0] & 15) * 4u, length;

	if (header_len < IPV4_HEADER || !has(packet, at + IPV4_HEADER) ||
		!has(packet, at + header_len))
		return true;
	length = be16(header + 2);
	return length >= header_len && fills(packet, at, length) &&
	       (has_right_checksum(header) ||
		       (be16(header + 10) == 0 && length == frame_left(packet, at)));
}

/* Returns true if `data`, read as an Ethernet header, has a known EtherType. */
static bool looks_like_frame(const uint8_t *data)
{
	uint32_t type = be16(data + 12);

	return type == TYPE_IPV4 || type == TYPE_IPV6 || type == TYPE_ARP || type == TYPE_MPLS ||
	       is_vlan(type);
}

/*
 * IPv6 has no header checksum, so this rejects a length of 0: jumbograms are not sent with labels.
 * If the length on the wire is unknown, it also rejects what looks like an Ethernet frame.
 */
static bool is_ipv6_after_labels(struct parse_state *packet, size_t at)
{
	const uint8_t *header = packet->data + at;
	uint64_t length;

	if (!has(packet, at + IPV6_HEADER))
		return true;
	length = ip_packet_length(header, IPV6_HEADER);
	return length > 0 && fills(packet, at, length) && header[7] > 0 &&
	       (packet->wire_len != PARSE_WIRE_UNKNOWN || !looks_like_frame(header));
}

/* MPLS has no field for the next protocol, so the first nibble after the labels decides. */
static bool skip_mpls(struct parse_state *packet, size_t *at, uint32_t *type)
{
	bool bottom = false;
	uint32_t label = 0;

	for (bool top = true; !bottom; top = false) {
		if (!has(packet, *at + 4))
			return false;
		label = be32(packet->data + *at) >> MPLS_LABEL_SHIFT;
		if (top)
			put_number(packet->extra->mpls, 3, label);
		bottom = packet->data[*at + 2] & 1;
		*at += 4;
	}
	if (!has(packet, *at + 1))
		return false;
	*type = type_of_version(packet->data[*at]);
	if ((*type == TYPE_IPV4 && label != MPLS_IPV4_NULL && !is_ipv4_after_labels(packet, *at)) ||
		(*type == TYPE_IPV6 && label != MPLS_IPV6_NULL &&
			!is_ipv6_after_labels(packet, *at)))
		*type = TYPE_NONE;
	return true;
}

/* The functions below build keys in 64-bit words: a wide load after narrow stores would stall. */

static inline bool has_ports(uint8_t proto)
{
	return proto == PROTO_TCP || proto == PROTO_UDP || proto == PROTO_SCTP;
}

/* Returns the last eight bytes of a key: ports or 0, protocol, three zero bytes. */
static inline uint64_t parse_transport(struct parse_state *packet, size_t at, uint8_t proto,
	bool later_fragment, struct parsed *out)
{
	uint32_t ports = 0;

	if (has_ports(proto) && !later_fragment && has(packet, at + 4)) {
		memcpy(&ports, packet->data + at, 4);
		if (proto == PROTO_TCP && has(packet, at + TCP_FLAGS_AT + 1))
			out->extra.tcp_flags[0] = packet->data[at + TCP_FLAGS_AT];
	}
	return htole64(le32toh(ports) | (uint64_t)proto << 32);
}

void parse_ipv4_extra(const uint8_t *header, struct key_extra *extra)
{
	key_extra_set_tos(extra, header[1]);
}

static inline enum parse_verdict parse_ipv4(
	struct parse_state *packet, size_t at, struct parsed *out)
{
	const uint8_t *header = packet->data + at;
	uint64_t words[2];
	size_t header_len;
	uint32_t fragment;

	if (!has(packet, at + IPV4_HEADER))
		return PARSE_CUT_IP;
	if (header[0] >> 4 != 4)
		return PARSE_BAD_VERSION;
	header_len = (size_t)(header[0] & 15) * 4;
	if (header_len < IPV4_HEADER || !has(packet, at + header_len))
		return PARSE_BAD_IHL;

	fragment = be16(header + 6);
	out->fragment = (fragment & IPV4_FRAGMENT) != 0;
	out->ip_at = at;
	out->transport_at = at + header_len;
	parse_ipv4_extra(header, &out->extra);
	memcpy(words, header + 12, 8);
	words[1] = parse_transport(
		packet, at + header_len, header[9], (fragment & IPV4_OFFSET) != 0, out);
	memcpy(&out->key4, words, sizeof(out->key4));
	return PARSE_IPV4;
}

static inline bool is_extension(uint8_t proto)
{
	return proto == PROTO_HOP_BY_HOP || proto == PROTO_ROUTING || proto == PROTO_FRAGMENT ||
	       proto == PROTO_AH || proto == PROTO_DESTINATION;
}

struct extensions {
	uint8_t proto; /* protocol of the next header */
	size_t at;     /* offset of the next header; may be beyond the packet */
	bool fragment;
	bool later_fragment;
};

/* Returns PARSE_IPV6, or the reason why the packet is rejected. */
static enum parse_verdict walk_extensions(struct parse_state *packet, struct extensions *walk)
{
	uint32_t walked = 0;

	while (is_extension(walk->proto) && !walk->later_fragment) {
		uint8_t proto = walk->proto;
		const uint8_t *header;

		if (++walked > PARSE_IPV6_EXTENSIONS_MAX)
			return PARSE_LONG_EXTENSION;
		if (!has(packet, walk->at + 8))
			return PARSE_CUT_EXTENSION;
		header = packet->data + walk->at;
		walk->proto = header[0];
		if (proto == PROTO_FRAGMENT) {
			walk->fragment = true;
			walk->later_fragment = be16(header + 2) >> 3 != 0;
			walk->at += 8;
		} else if (proto == PROTO_AH) {
			walk->at += (header[1] + 2u) * 4;
		} else {
			walk->at += (header[1] + 1u) * 8;
		}
	}
	return PARSE_IPV6;
}

static inline enum parse_verdict parse_ipv6(
	struct parse_state *packet, size_t at, struct parsed *out)
{
	const uint8_t *header = packet->data + at;
	struct extensions walk = {.at = at + IPV6_HEADER};
	enum parse_verdict verdict;
	uint64_t words[5];

	if (!has(packet, at + IPV6_HEADER))
		return PARSE_CUT_IP;
	if (header[0] >> 4 != 6)
		return PARSE_BAD_VERSION;
	walk.proto = header[6];
	verdict = walk_extensions(packet, &walk);
	if (verdict != PARSE_IPV6)
		return verdict;

	out->fragment = walk.fragment;
	out->ip_at = at;
	out->transport_at = walk.at;
	key_extra_set_tos(&out->extra, (uint8_t)(be16(header) >> 4));
	memcpy(words, header + 8, 32);
	words[4] = parse_transport(packet, walk.at, walk.proto, walk.later_fragment, out);
	memcpy(&out->key6, words, sizeof(out->key6));
	return PARSE_IPV6;
}

static inline enum parse_verdict parse_layers(
	struct parse_state *packet, enum link_type link, struct parsed *out)
{
	uint32_t type;
	size_t at;

	if (!skip_link(packet, link, &at, &type))
		return PARSE_CUT_LINK;
	if ((type == TYPE_MPLS || type == TYPE_MPLS_MULTICAST) && !skip_mpls(packet, &at, &type))
		return PARSE_CUT_MPLS;
	switch (type) {
	case TYPE_IPV4: return parse_ipv4(packet, at, out);
	case TYPE_IPV6: return parse_ipv6(packet, at, out);
	default: return PARSE_NON_IP;
	}
}

enum parse_verdict parse_captured(const uint8_t *data, uint32_t len, uint32_t wire_len,
	enum link_type link, struct parsed *out)
{
	struct parse_state packet = {
		.data = data,
		.len = len,
		.wire_len = wire_len,
		.extra = &out->extra,
	};
	enum parse_verdict verdict;

	out->fragment = false;
	memset(&out->extra, 0, sizeof(out->extra));
	verdict = parse_layers(&packet, link, out);
	ASSERT(packet.need, <=, packet.len);
	out->need = (uint32_t)packet.need;
	out->cut = packet.cut;
	return verdict;
}

enum parse_verdict parse_packet(
	const uint8_t *data, uint32_t len, enum link_type link, struct parsed *out)
{
	return parse_captured(data, len, len, link, out);
}

/*
 * Returns true if the capture, not the sender, truncated joined segments (TSO, GRO): the IP header
 * has `length`, but `left` bytes were captured. A sender cannot send `left` bytes if they are too
 * few or too many for an Ethernet frame.
 */
static bool is_joined_and_cut(
	const uint8_t *ip, uint64_t length, uint64_t left, bool beyond_snaplen)
{
	return length > ETHERNET_PAYLOAD_MAX &&
	       (beyond_snaplen || left < ETHERNET_PAYLOAD_MIN || left > ETHERNET_PAYLOAD_MAX) &&
	       (ip[0] >> 4 == 6 || has_right_checksum(ip));
}

uint32_t parse_missing_of_any(const uint8_t *data, uint32_t captured, uint32_t wire_len,
	uint32_t snaplen, const struct parsed *parsed)
{
	const uint8_t *ip = data + parsed->ip_at;
	bool at_snaplen = snaplen > 0 && captured >= snaplen;
	uint64_t length, end;

	length = ip_packet_length(ip, captured - parsed->ip_at);
	if (length == 0)
		return at_snaplen ? PARSE_MISSING_UNKNOWN : captured - wire_len;
	end = parsed->ip_at + length;
	if (end <= captured ||
		!(at_snaplen || is_joined_and_cut(ip, length, captured - parsed->ip_at,
					snaplen > 0 && snaplen < end)))
		return captured - wire_len;
	return end - wire_len < PARSE_MISSING_UNKNOWN ? (uint32_t)(end - wire_len)
						      : PARSE_MISSING_UNKNOWN;
}
