/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/fragments.h"

#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/assertion.h"
#include "base/power_of_two.h"
#include "base/random.h"
#include "flow_protocols/big_endian.h"
#include "rx/packet/parse.h"

enum {
	PROTO_HOP_BY_HOP = 0,
	PROTO_TCP = 6,
	PROTO_UDP = 17,
	PROTO_ROUTING = 43,
	PROTO_FRAGMENT = 44,
	PROTO_AH = 51,
	PROTO_DESTINATION = 60,
	PROTO_SCTP = 132,
};

#define TCP_HEADER      20
#define SCTP_HEADER     12
#define SCTP_DATA       0
#define SCTP_CHUNK      4
#define SCTP_DATA_CHUNK 16

#define IPV4_HEADER     20
#define IPV4_MORE       0x2000
#define IPV4_OFFSET     0x1fff
#define IPV6_HEADER     40
#define IPV6_MORE       1
#define FRAGMENT_HEADER 8
#define UDP_HEADER      8
#define IP_LENGTH_MAX   65535
#define UNIT            8 /* bytes per unit of fragment offsets */
#define UNITS           ((IP_LENGTH_MAX + UNIT) / UNIT)
#define NONE            UINT32_MAX

struct identity {
	struct in6_addr src, dst;
	uint32_t id;
	/* IPv4: protocol. IPv6: constant, because IDs are common to all protocols. */
	uint32_t proto;
};

struct fragment {
	struct identity identity;
	const uint8_t *data;
	uint32_t len, offset;
	bool ipv6;
	bool more;
	uint8_t next; /* protocol of the payload, in the header of this fragment */
};

struct fragments_waiting {
	struct identity identity;
	int64_t began;
	uint32_t bucket_next;
	/* incomplete datagrams in order of their first fragments */
	uint32_t older, newer;
	uint32_t total; /* bytes of the payload; 0: the last fragment is missing */
	uint32_t received;
	uint32_t reach;                 /* highest end of a fragment */
	bool contradicted;              /* fragments overlapped: later ones are dropped */
	uint8_t next;                   /* protocol of the first fragment (RFC 8200, 4.5) */
	uint64_t units[UNITS / 64 + 1]; /* one bit per eight bytes received */
	/* an IP header, then the reassembled payload */
	uint8_t bytes[IPV6_HEADER + UNITS * UNIT];
};

struct fragments {
	struct fragments_waiting *waiting; /* [room] */
	uint32_t *buckets;                 /* [mask + 1]: first entry, or NONE */
	uint32_t mask, room;
	uint32_t oldest, newest;
	uint32_t unused;
	uint32_t untouched; /* entries from here on were never used */
	uint32_t nb_waiting;
	int64_t age;
	struct fragments_counts counts;
	uint32_t lost_ports[FRAGMENTS_PORTS];
};

static uint32_t room_of(const struct fragments_limits *limits)
{
	/* A datagram needs an entry and at most two buckets. */
	size_t room = limits->bytes / (sizeof(struct fragments_waiting) + 2 * sizeof(uint32_t));

	return room < limits->datagrams ? (uint32_t)room : limits->datagrams;
}

size_t fragments_memory(const struct fragments_limits *limits)
{
	uint32_t room = room_of(limits);

	return sizeof(struct fragments) + room * sizeof(struct fragments_waiting) +
	       power_of_two_at_least(room) * sizeof(uint32_t);
}

struct fragments *fragments_create(const struct fragments_limits *limits)
{
	struct fragments *fragments = calloc(1, sizeof(*fragments));
	uint32_t room = room_of(limits), buckets = (uint32_t)power_of_two_at_least(room);

	if (fragments == NULL || room == 0) {
		free(fragments);
		return NULL;
	}
	/* calloc() does not touch the pages, so the kernel allocates only those in use. */
	fragments->waiting = calloc(room, sizeof(*fragments->waiting));
	fragments->buckets = calloc(buckets, sizeof(*fragments->buckets));
	if (fragments->waiting == NULL || fragments->buckets == NULL) {
		fragments_destroy(fragments);
		return NULL;
	}
	for (uint32_t i = 0; i < buckets; i++)
		fragments->buckets[i] = NONE;
	fragments->mask = buckets - 1;
	fragments->room = room;
	fragments->oldest = fragments->newest = fragments->unused = NONE;
	fragments->age = limits->age;
	return fragments;
}

void fragments_destroy(struct fragments *fragments)
{
	if (fragments == NULL)
		return;
	free(fragments->waiting);
	free(fragments->buckets);
	free(fragments);
}

uint32_t fragments_waiting(const struct fragments *fragments)
{
	return fragments->nb_waiting;
}

const struct fragments_counts *fragments_counted(const struct fragments *fragments)
{
	return &fragments->counts;
}

uint32_t *fragments_lost_ports(struct fragments *fragments)
{
	return fragments->lost_ports;
}

/* `port` 0: unknown. Always returns false. */
static bool lose(struct fragments *fragments, uint64_t *reason, uint16_t port)
{
	++*reason;
	fragments->lost_ports[port]++;
	return false;
}

static uint16_t dst_port_of(const struct parsed *parsed, bool ipv6)
{
	return read_u16(ipv6 ? parsed->key6.dst_port : parsed->key4.dst_port);
}

static uint32_t *bucket_of(struct fragments *fragments, const struct identity *identity)
{
	uint64_t words[sizeof(*identity) / sizeof(uint64_t)], hash = 0;

	memcpy(words, identity, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		hash = random_mix(hash ^ words[i]);
	return &fragments->buckets[hash & fragments->mask];
}

static uint32_t find_datagram(struct fragments *fragments, const struct identity *identity)
{
	uint32_t at = *bucket_of(fragments, identity);

	while (at != NONE &&
		memcmp(&fragments->waiting[at].identity, identity, sizeof(*identity)) != 0)
		at = fragments->waiting[at].bucket_next;
	return at;
}

/* The bytes stay valid until the entry is reused. */
static void release(struct fragments *fragments, uint32_t at)
{
	struct fragments_waiting *waiting = &fragments->waiting[at];
	uint32_t *link = bucket_of(fragments, &waiting->identity);

	while (*link != at)
		link = &fragments->waiting[*link].bucket_next;
	*link = waiting->bucket_next;
	*(waiting->older == NONE ? &fragments->oldest : &fragments->waiting[waiting->older].newer) =
		waiting->newer;
	*(waiting->newer == NONE ? &fragments->newest : &fragments->waiting[waiting->newer].older) =
		waiting->older;
	waiting->bucket_next = fragments->unused;
	fragments->unused = at;
	fragments->nb_waiting--;
}

/* Returns 0 if the first fragment is missing, or if other headers precede UDP. */
static uint16_t waiting_port(const struct fragments_waiting *waiting)
{
	bool has_first = (waiting->units[0] & 1) != 0 && waiting->next == PROTO_UDP;

	return has_first ? read_u16(waiting->bytes + IPV6_HEADER + 2) : 0;
}

static void give_up_oldest(struct fragments *fragments)
{
	const struct fragments_waiting *waiting = &fragments->waiting[fragments->oldest];

	if (!waiting->contradicted)
		lose(fragments, &fragments->counts.given_up, waiting_port(waiting));
	release(fragments, fragments->oldest);
}

void fragments_give_up(struct fragments *fragments)
{
	while (fragments->oldest != NONE)
		give_up_oldest(fragments);
}

/* Unsigned arithmetic, because the times of a capture are arbitrary and may overflow. */
static int64_t since(int64_t began, int64_t time)
{
	return (int64_t)((uint64_t)time - (uint64_t)began);
}

static void give_up_old(struct fragments *fragments, int64_t time)
{
	while (fragments->oldest != NONE &&
		since(fragments->waiting[fragments->oldest].began, time) > fragments->age)
		give_up_oldest(fragments);
}

static uint32_t take_slot(struct fragments *fragments)
{
	uint32_t at;

	if (fragments->nb_waiting == fragments->room)
		give_up_oldest(fragments);
	at = fragments->unused;
	if (at == NONE)
		return fragments->untouched++;
	fragments->unused = fragments->waiting[at].bucket_next;
	return at;
}

static uint32_t begin_datagram(
	struct fragments *fragments, const struct identity *identity, int64_t time)
{
	uint32_t *bucket = bucket_of(fragments, identity), at = take_slot(fragments);
	struct fragments_waiting *waiting = &fragments->waiting[at];

	waiting->identity = *identity;
	waiting->began = time;
	waiting->total = waiting->received = waiting->reach = 0;
	waiting->contradicted = false;
	memset(waiting->units, 0, sizeof(waiting->units));
	waiting->bucket_next = *bucket;
	*bucket = at;
	waiting->newer = NONE;
	waiting->older = fragments->newest;
	*(fragments->newest == NONE ? &fragments->oldest
				    : &fragments->waiting[fragments->newest].newer) = at;
	fragments->newest = at;
	fragments->nb_waiting++;
	ASSERT(fragments->nb_waiting, <=, fragments->room);
	return at;
}

/* Returns how many of the units `first` to `last` were received. */
static uint32_t units_there(const struct fragments_waiting *waiting, uint32_t first, uint32_t last)
{
	uint32_t there = 0;

	for (uint32_t unit = first; unit <= last; unit++)
		there += (uint32_t)(waiting->units[unit / 64] >> unit % 64) & 1;
	return there;
}

/* Returns false if the fragment overlaps earlier ones, unless it repeats one exactly. */
static bool put(struct fragments_waiting *waiting, const struct fragment *fragment)
{
	uint32_t end = fragment->offset + fragment->len;
	uint32_t first = fragment->offset / UNIT, last = (end - 1) / UNIT;
	uint32_t there = units_there(waiting, first, last);
	uint8_t *to = waiting->bytes + IPV6_HEADER + fragment->offset;

	if (!fragment->more && waiting->total != 0 && waiting->total != end)
		return false;
	if ((!fragment->more && waiting->reach > end) ||
		(waiting->total != 0 && end > waiting->total))
		return false;
	if (there != 0)
		return there == last - first + 1 && end <= waiting->reach &&
		       memcmp(to, fragment->data, fragment->len) == 0;
	memcpy(to, fragment->data, fragment->len);
	for (uint32_t unit = first; unit <= last; unit++)
		waiting->units[unit / 64] |= UINT64_C(1) << unit % 64;
	if (fragment->offset == 0)
		waiting->next = fragment->next;
	waiting->received += fragment->len;
	ASSERT(waiting->received, <=, IP_LENGTH_MAX);
	if (waiting->reach < end)
		waiting->reach = end;
	if (!fragment->more)
		waiting->total = end;
	return true;
}

static uint8_t *write_header(struct fragments_waiting *waiting, bool ipv6)
{
	uint8_t *header = waiting->bytes;

	memset(header, 0, IPV6_HEADER);
	if (ipv6) {
		header[0] = 0x60;
		put16(header + 4, waiting->total);
		header[6] = waiting->next;
		memcpy(header + 8, &waiting->identity.src, 16);
		memcpy(header + 24, &waiting->identity.dst, 16);
		return header;
	}
	header += IPV6_HEADER - IPV4_HEADER;
	header[0] = 0x45;
	put16(header + 2, IPV4_HEADER + waiting->total);
	header[9] = waiting->next;
	memcpy(header + 12, waiting->identity.src.s6_addr + 12, 4);
	memcpy(header + 16, waiting->identity.dst.s6_addr + 12, 4);
	return header;
}

/* Returns 0 if the packet ends inside its headers. */
static size_t end_of(const uint8_t *packet, bool ipv6, const struct parsed *parsed)
{
	const uint8_t *ip = packet + parsed->ip_at;
	size_t end = parsed->ip_at + (ipv6 ? IPV6_HEADER + read_u16(ip + 4) : read_u16(ip + 2));

	return end < parsed->transport_at ? 0 : end;
}

static void put_addresses(struct datagram *out, bool ipv6, const struct parsed *parsed)
{
	if (ipv6) {
		memcpy(&out->src, parsed->key6.src_ip, 16);
		memcpy(&out->dst, parsed->key6.dst_ip, 16);
	} else {
		address_map_ipv4(&out->src, parsed->key4.src_ip);
		address_map_ipv4(&out->dst, parsed->key4.dst_ip);
	}
}

/* All bytes before `end`, the end of the IP packet, were captured. */
static bool read_udp(struct fragments *fragments, const uint8_t *packet, size_t end, bool ipv6,
	const struct parsed *parsed, struct datagram *out)
{
	const uint8_t *udp = packet + parsed->transport_at;
	uint32_t len;

	if (end - parsed->transport_at < UDP_HEADER)
		return lose(fragments, &fragments->counts.bad, 0);
	len = read_u16(udp + 4);
	if (len < UDP_HEADER || len > end - parsed->transport_at)
		return lose(fragments, &fragments->counts.bad, read_u16(udp + 2));
	put_addresses(out, ipv6, parsed);
	out->src_port = read_u16(udp);
	out->dst_port = read_u16(udp + 2);
	out->data = udp + UDP_HEADER;
	out->len = len - UDP_HEADER;
	return true;
}

/* Returns NULL if the packet has none. */
static const uint8_t *find_fragment_header(const uint8_t *packet, size_t ip_at, size_t end)
{
	uint8_t proto = packet[ip_at + 6];
	size_t at = ip_at + IPV6_HEADER;

	while (at + FRAGMENT_HEADER <= end) {
		const uint8_t *header = packet + at;

		switch (proto) {
		case PROTO_FRAGMENT: return header;
		case PROTO_AH: at += (header[1] + 2u) * 4; break;
		case PROTO_HOP_BY_HOP:
		case PROTO_ROUTING:
		case PROTO_DESTINATION: at += (header[1] + 1u) * 8; break;
		default: return NULL;
		}
		proto = header[0];
	}
	return NULL;
}

static bool read_fragment4(
	const uint8_t *packet, size_t end, const struct parsed *parsed, struct fragment *fragment)
{
	const uint8_t *ip = packet + parsed->ip_at;
	uint32_t bits = read_u16(ip + 6);

	*fragment = (struct fragment){
		.data = packet + parsed->transport_at,
		.len = (uint32_t)(end - parsed->transport_at),
		.offset = (bits & IPV4_OFFSET) * UNIT,
		.more = (bits & IPV4_MORE) != 0,
		.next = ip[9],
	};
	fragment->identity.id = read_u16(ip + 4);
	fragment->identity.proto = ip[9];
	address_map_ipv4(&fragment->identity.src, ip + 12);
	address_map_ipv4(&fragment->identity.dst, ip + 16);
	return fragment->offset + fragment->len <= IP_LENGTH_MAX - IPV4_HEADER;
}

static bool read_fragment6(
	const uint8_t *packet, size_t end, const struct parsed *parsed, struct fragment *fragment)
{
	const uint8_t *header = find_fragment_header(packet, parsed->ip_at, end);
	const uint8_t *ip = packet + parsed->ip_at;

	if (header == NULL)
		return false;
	*fragment = (struct fragment){
		.data = header + FRAGMENT_HEADER,
		.len = (uint32_t)(packet + end - header) - FRAGMENT_HEADER,
		.offset = read_u16(header + 2) / UNIT * UNIT,
		.more = (read_u16(header + 2) & IPV6_MORE) != 0,
		.ipv6 = true,
		.next = header[0],
	};
	fragment->identity.id = read_u32(header + 4);
	fragment->identity.proto = PROTO_FRAGMENT;
	memcpy(&fragment->identity.src, ip + 8, 16);
	memcpy(&fragment->identity.dst, ip + 24, 16);
	return fragment->offset + fragment->len <= IP_LENGTH_MAX;
}

static bool complete(struct fragments *fragments, uint32_t at, bool ipv6, struct datagram *out)
{
	struct fragments_waiting *waiting = &fragments->waiting[at];
	const uint8_t *packet = write_header(waiting, ipv6);
	uint32_t len = (uint32_t)(waiting->bytes + IPV6_HEADER - packet) + waiting->total;
	struct parsed parsed;
	enum parse_verdict verdict = parse_packet(packet, len, LINK_RAW, &parsed);

	release(fragments, at);
	if (verdict != (ipv6 ? PARSE_IPV6 : PARSE_IPV4) || parsed.fragment ||
		parsed.transport_at > len)
		return lose(fragments, &fragments->counts.bad, 0);
	if ((ipv6 ? parsed.key6.proto : parsed.key4.proto) != PROTO_UDP) {
		fragments->counts.not_udp++;
		return false;
	}
	if (!read_udp(fragments, packet, len, ipv6, &parsed, out))
		return false;
	fragments->counts.completed++;
	return true;
}

static bool take_fragment(struct fragments *fragments, const struct fragment *fragment,
	int64_t time, struct datagram *out)
{
	struct fragments_waiting *waiting;
	uint32_t at;

	fragments->counts.fragments++;
	at = find_datagram(fragments, &fragment->identity);
	if (at == NONE)
		at = begin_datagram(fragments, &fragment->identity, time);
	waiting = &fragments->waiting[at];
	if (waiting->contradicted)
		return false;
	if (!put(waiting, fragment)) {
		waiting->contradicted = true;
		return lose(fragments, &fragments->counts.overlapping, waiting_port(waiting));
	}
	return waiting->total != 0 && waiting->received == waiting->total &&
	       complete(fragments, at, fragment->ipv6, out);
}

static bool may_hold_udp(uint8_t next)
{
	return next == PROTO_UDP || next == PROTO_DESTINATION || next == PROTO_AH;
}

static bool add_fragment(struct fragments *fragments, const uint8_t *packet, size_t end, bool ipv6,
	const struct parsed *parsed, int64_t time, struct datagram *out)
{
	struct fragment fragment;
	bool fits = ipv6 ? read_fragment6(packet, end, parsed, &fragment)
			 : read_fragment4(packet, end, parsed, &fragment);

	if (!fits || fragment.len == 0 || (fragment.more && fragment.len % UNIT != 0))
		return lose(fragments, &fragments->counts.bad, 0);
	if (!may_hold_udp(fragment.next)) {
		fragments->counts.not_udp++;
		return false;
	}
	if (fragment.offset != 0 || fragment.more)
		return take_fragment(fragments, &fragment, time, out);
	/* An "atomic" fragment (RFC 6946) is a complete datagram. */
	if (parsed->key6.proto != PROTO_UDP) {
		fragments->counts.not_udp++;
		return false;
	}
	if (!read_udp(fragments, packet, end, ipv6, parsed, out))
		return false;
	fragments->counts.whole++;
	return true;
}

/* Returns `len` if there is no DATA chunk. */
static uint32_t sctp_data_at(const uint8_t *sctp, uint32_t len)
{
	uint32_t at = SCTP_HEADER;

	while (at + SCTP_DATA_CHUNK < len) {
		uint32_t chunk = read_u16(sctp + at + 2);

		if (sctp[at] == SCTP_DATA)
			return at + SCTP_DATA_CHUNK;
		at += chunk < SCTP_CHUNK ? len : (chunk + 3) / 4 * 4;
	}
	return len;
}

static void read_stream(const uint8_t *packet, size_t end, bool ipv6, const struct parsed *parsed,
	struct datagram *out)
{
	const uint8_t *header = packet + parsed->transport_at;
	uint8_t proto = ipv6 ? parsed->key6.proto : parsed->key4.proto;
	uint32_t len, at = 0;

	if (parsed->transport_at >= end || (proto != PROTO_TCP && proto != PROTO_SCTP))
		return;
	len = (uint32_t)(end - parsed->transport_at);
	if (proto == PROTO_SCTP && len >= SCTP_HEADER)
		at = sctp_data_at(header, len);
	else if (proto == PROTO_TCP && len >= TCP_HEADER)
		at = (header[12] >> 4) * 4u;
	if (at < SCTP_HEADER || at >= len)
		return;
	put_addresses(out, ipv6, parsed);
	out->proto = proto;
	out->src_port = read_u16(header);
	out->dst_port = read_u16(header + 2);
	out->data = header + at;
	out->len = len - at;
}

static void count_no_key(struct fragments *fragments, enum parse_verdict verdict)
{
	switch (verdict) {
	case PARSE_NON_IP:
		fragments->counts.not_udp++;
		fragments->counts.not_ip++;
		break;
	case PARSE_CUT_LINK:
	case PARSE_CUT_MPLS:
	case PARSE_CUT_IP:
	case PARSE_CUT_EXTENSION: lose(fragments, &fragments->counts.cut, 0); break;
	default: lose(fragments, &fragments->counts.bad, 0);
	}
}

bool fragments_add(struct fragments *fragments, const uint8_t *packet, uint32_t len,
	uint32_t wire_len, enum link_type link, int64_t time, struct datagram *out)
{
	struct parsed parsed;
	enum parse_verdict verdict = parse_captured(packet, len, wire_len, link, &parsed);
	bool ipv6 = verdict == PARSE_IPV6;
	size_t end;

	*out = (struct datagram){.time = time};
	give_up_old(fragments, time);
	if (parse_verdicts[verdict].class != PARSE_CLASS_KEY) {
		count_no_key(fragments, verdict);
		return false;
	}
	end = end_of(packet, ipv6, &parsed);
	if (!parsed.fragment && (ipv6 ? parsed.key6.proto : parsed.key4.proto) != PROTO_UDP) {
		fragments->counts.not_udp++;
		read_stream(packet, end == 0 || end > len ? len : end, ipv6, &parsed, out);
		return false;
	}
	if (end == 0 || end > len)
		return lose(fragments, end == 0 ? &fragments->counts.bad : &fragments->counts.cut,
			parsed.fragment ? 0 : dst_port_of(&parsed, ipv6));
	if (parsed.fragment)
		return add_fragment(fragments, packet, end, ipv6, &parsed, time, out);
	if (!read_udp(fragments, packet, end, ipv6, &parsed, out))
		return false;
	fragments->counts.whole++;
	return true;
}
