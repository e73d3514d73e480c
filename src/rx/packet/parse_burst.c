/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/packet/parse_burst.h"

#include <stdbool.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>

#include "base/assertion.h"
#include "rx/packet/captured.h"
#include "rx/packet/meta.h"
#include "base/prefetch.h"
#include "rx/packet/link_type.h"
#include "rx/packet/plain.h"
#include "rx/packet/unaligned.h"

enum origin {
	ORIGIN_PORT,
	ORIGIN_REPLAY,
};

#define PROTO_TCP    6
#define TCP_READ     16 /* bytes of a TCP header up to its window */
#define IPV4_HEADER  20
#define IPV6_HEADER  40
#define IP_LENGTHS   6 /* bytes of an IP header up to its length field */
#define VLAN_TAG_LEN 4
#define VLAN_ID      0x0fff

static inline uint32_t be16(const uint8_t *p)
{
	return rte_be_to_cpu_16(load16(p));
}

static inline uint32_t be32(const uint8_t *p)
{
	return rte_be_to_cpu_32(load32(p));
}

/* Headers rarely continue in a second segment, because a segment has 2 KB. */
static __attribute__((noinline)) enum parse_verdict parse_chained(
	const struct rte_mbuf *mbuf, uint32_t wire_len, enum link_type link, struct parsed *parsed)
{
	uint8_t copy[PACKET_BYTES_MAX];
	uint32_t len = RTE_MIN(mbuf->pkt_len, (uint32_t)sizeof(copy));
	const uint8_t *data = rte_pktmbuf_read(mbuf, 0, len, copy);

	return parse_captured(data, len, wire_len, link, parsed);
}

enum parse_verdict parse_mbuf(
	const struct rte_mbuf *mbuf, uint32_t wire_len, enum link_type link, struct parsed *parsed)
{
	enum parse_verdict verdict = parse_captured(
		rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->data_len, wire_len, link, parsed);

	if (unlikely(parsed->cut && mbuf->nb_segs > 1))
		verdict = parse_chained(mbuf, wire_len, link, parsed);
	return verdict;
}

static inline void plain_extra(const uint8_t *data, uint8_t tcp_flags, struct key_extra *extra)
{
	memset(extra, 0, sizeof(*extra));
	parse_ipv4_extra(data + PLAIN_IP_AT, extra);
	extra->tcp_flags[0] = tcp_flags;
}

/* A VLAN tag that the device stripped was the outermost one. */
static inline void put_mbuf_fields(
	struct key_extra *extra, const struct rte_mbuf *mbuf, uint32_t in_port)
{
	if ((mbuf->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0)
		put_be16(extra->vlan, mbuf->vlan_tci & VLAN_ID);
	put_be16(extra->in_port, in_port);
}

/* Returns 0 if the header has no length, as above 65535 bytes. */
static inline uint32_t ip_length(const uint8_t *ip)
{
	uint32_t length;

	if (ip[0] >> 4 != 6)
		return be16(ip + 2);
	length = be16(ip + 4);
	return length > 0 ? length + IPV6_HEADER : 0;
}

static void read_tcp(const struct rte_mbuf *mbuf, size_t ip_at, size_t tcp_at, uint32_t wire_len,
	struct key_tcp *tcp)
{
	uint8_t ip_copy[IPV4_HEADER], tcp_copy[TCP_READ];
	const uint8_t *ip = mbuf_read(mbuf, (uint32_t)ip_at, IPV4_HEADER, ip_copy);
	const uint8_t *header =
		tcp_at < UINT32_MAX ? mbuf_read(mbuf, (uint32_t)tcp_at, TCP_READ, tcp_copy) : NULL;
	uint32_t length, headers;

	*tcp = (struct key_tcp){0};
	if (ip == NULL || header == NULL)
		return;
	length = ip_length(ip);
	if (length == 0)
		length = wire_len > ip_at ? wire_len - (uint32_t)ip_at : 0;
	headers = (uint32_t)(tcp_at - ip_at) + (header[12] >> 4) * 4u;
	*tcp = (struct key_tcp){
		.sequence = be32(header + 4),
		.acknowledgement = be32(header + 8),
		.payload = length > headers ? length - headers : 0,
		.window = (uint16_t)be16(header + 14),
		.known = true,
	};
}

static inline void plain_tcp(
	const struct rte_mbuf *mbuf, const uint8_t *data, uint32_t wire_len, struct key_tcp *tcp)
{
	bool whole = ((data[20] & 0x3f) | data[21]) == 0;

	if (whole && data[23] == PROTO_TCP)
		read_tcp(mbuf, PLAIN_IP_AT, PLAIN_IP_AT + IPV4_HEADER, wire_len, tcp);
	else
		tcp->known = false;
}

static uint8_t proto_of(const struct parsed *parsed, enum parse_verdict verdict)
{
	return verdict == PARSE_IPV4 ? parsed->key4.proto : parsed->key6.proto;
}

/*
 * Returns the bytes of the frame that are not in its IP packet. If ip_len is 0 (joined segments) or
 * exceeds the frame, the packet extends to the end of the frame.
 */
static inline uint16_t overhead_of(uint32_t wire_len, size_t ip_at, uint32_t ip_len)
{
	uint32_t room = wire_len > ip_at ? wire_len - (uint32_t)ip_at : 0;
	uint32_t overhead = wire_len - (ip_len == 0 || ip_len > room ? room : ip_len);

	return (uint16_t)RTE_MIN(overhead, (uint32_t)UINT16_MAX);
}

/* Parses plain IPv4 after one VLAN tag, and plain IPv6 with or without a VLAN tag. */
static inline __attribute__((always_inline)) bool parse_second(const uint8_t *data, uint32_t len,
	uint32_t m, struct key_burst *out, struct parse_counts *counts, const bool details,
	const bool overhead, uint32_t wire_len)
{
	size_t tags = 0;

	if (len >= PLAIN_LEN && load16(data + 12) == RTE_BE16(0x8100)) {
		tags = VLAN_TAG_LEN;
		data += VLAN_TAG_LEN;
		len -= VLAN_TAG_LEN;
	}
	if (plain_is_ipv6(data, len)) {
		plain_ipv6_key(data, &out->key6[m]);
		out->v6 |= UINT64_C(1) << m;
		counts->verdicts[PARSE_IPV6]++;
		if (details)
			out->tcp_flags[m] = data[20] == PROTO_TCP && len > PLAIN6_FLAGS_AT
						    ? data[PLAIN6_FLAGS_AT]
						    : 0;
	} else if (plain_is_ipv4(data, len)) {
		plain_ipv4_key(data, &out->key4[m]);
		counts->verdicts[PARSE_IPV4]++;
		if (details)
			out->tcp_flags[m] = plain_tcp_flags(data, len);
	} else {
		return false;
	}
	if (overhead)
		out->overhead[m] =
			overhead_of(wire_len, tags + PLAIN_IP_AT, ip_length(data + PLAIN_IP_AT));
	return true;
}

static uint16_t read_overhead(const struct rte_mbuf *mbuf, size_t ip_at, uint32_t wire_len)
{
	uint8_t copy[IP_LENGTHS];
	const uint8_t *ip = mbuf_read(mbuf, (uint32_t)ip_at, IP_LENGTHS, copy);

	return overhead_of(wire_len, ip_at, ip != NULL ? ip_length(ip) : 0);
}

/* Returns true if the packet has a key. */
static bool parse_any(const struct rte_mbuf *mbuf, enum link_type link, uint32_t m,
	struct key_burst *out, struct parse_counts *counts, enum parse_level level, bool overhead,
	uint32_t wire_len)
{
	struct parsed parsed;
	enum parse_verdict verdict = parse_mbuf(mbuf, wire_len, link, &parsed);

	counts->verdicts[verdict]++;
	out->tcp_flags[m] = parsed.extra.tcp_flags[0];
	if (level >= PARSE_EXTRA)
		out->extra[m] = parsed.extra;
	if (overhead && parse_verdicts[verdict].class == PARSE_CLASS_KEY)
		out->overhead[m] = read_overhead(mbuf, parsed.ip_at, wire_len);
	if (level >= PARSE_TCP && parse_verdicts[verdict].class == PARSE_CLASS_KEY) {
		out->tcp[m].known = false;
		if (!parsed.fragment && proto_of(&parsed, verdict) == PROTO_TCP)
			read_tcp(mbuf, parsed.ip_at, parsed.transport_at, wire_len, &out->tcp[m]);
	}
	switch (verdict) {
	case PARSE_IPV4: out->key4[m] = parsed.key4; return true;
	case PARSE_IPV6:
		out->key6[m] = parsed.key6;
		out->v6 |= UINT64_C(1) << m;
		return true;
	default: return false;
	}
}

/* The compiler vectorizes this loop, because it is separate from the parser's loop. */
static __attribute__((noinline)) void add_lengths(
	struct parse_counts *counts, const struct key_burst *burst)
{
	uint32_t largest = counts->largest_frame, smallest = counts->smallest_frame;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < burst->n; i++) {
		bytes += burst->wire_len[i];
		smallest = RTE_MIN(smallest, burst->wire_len[i]);
		largest = RTE_MAX(largest, burst->wire_len[i]);
	}
	counts->bytes += bytes;
	counts->largest_frame = largest;
	counts->smallest_frame = smallest;
}

/* Only ORIGIN_PORT reads `times` (from PARSE_DETAILS on) and `in_ports` (from PARSE_EXTRA on). */
static inline __attribute__((always_inline)) void parse_burst(struct rte_mbuf *const *pkts,
	uint32_t n, struct key_burst *out, struct parse_counts *counts, enum origin origin,
	const enum parse_level level, const bool overhead, const struct packet_times *times,
	const uint16_t *in_ports)
{
	const bool details = level >= PARSE_DETAILS, extra = level >= PARSE_EXTRA;
	const bool tcp = level >= PARSE_TCP;
	uint32_t m = 0, others = 0;

	ASSERT(n, <=, BURST_MAX);
	out->v6 = 0;
	if (origin == ORIGIN_REPLAY)
		prefetch_first_mbufs(pkts, n);
	prefetch_first_headers(pkts, n);
	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *mbuf = pkts[i];
		const uint8_t *data = rte_pktmbuf_mtod(mbuf, const uint8_t *);
		enum link_type link = LINK_ETHERNET;
		uint32_t wire_len = mbuf->pkt_len;

		if (origin == ORIGIN_REPLAY && i + MBUF_AHEAD < n)
			prefetch_mbuf(pkts[i + MBUF_AHEAD]);
		if (i + DATA_AHEAD < n)
			prefetch_data(pkts[i + DATA_AHEAD]);
		if (origin == ORIGIN_REPLAY) {
			const struct packet_meta *meta = packet_meta(mbuf);

			link = (enum link_type)meta->link;
			wire_len = meta->wire_len;
		}
		/* If the TCP flags are in a later segment, parse_any() reads them. */
		if (likely(link == LINK_ETHERNET && plain_is_ipv4(data, mbuf->data_len) &&
			    (!details || mbuf->nb_segs == 1 || mbuf->data_len > PLAIN_FLAGS_AT))) {
			plain_ipv4_key(data, &out->key4[m]);
			if (details)
				out->tcp_flags[m] = plain_tcp_flags(data, mbuf->data_len);
			if (overhead)
				out->overhead[m] =
					overhead_of(wire_len, PLAIN_IP_AT, be16(data + 16));
			if (extra)
				plain_extra(data, out->tcp_flags[m], &out->extra[m]);
			if (tcp)
				plain_tcp(mbuf, data, wire_len, &out->tcp[m]);
		} else if ((link == LINK_ETHERNET && !extra && (!details || mbuf->nb_segs == 1) &&
				   parse_second(data, mbuf->data_len, m, out, counts, details,
					   overhead, wire_len)) ||
			   parse_any(mbuf, link, m, out, counts, level, overhead, wire_len)) {
			others++;
		} else {
			counts->largest_frame = RTE_MAX(counts->largest_frame, wire_len);
			continue;
		}
		if (details)
			out->time[m] = origin == ORIGIN_REPLAY ? packet_meta(mbuf)->time
							       : packet_time(times, mbuf);
		if (extra) {
			uint16_t in_port = origin == ORIGIN_REPLAY ? packet_meta(mbuf)->in_port
					   : mbuf->port < RTE_MAX_ETHPORTS ? in_ports[mbuf->port]
									   : 0;

			put_mbuf_fields(&out->extra[m], mbuf, in_port);
		}
		out->wire_len[m++] = wire_len;
	}
	out->n = m;
	out->has_tcp = tcp;
	out->has_overhead = overhead;
	counts->verdicts[PARSE_IPV4] += m - others;
	add_lengths(counts, out);
}

#define PARSE(level)                                                                               \
	case level:                                                                                \
		if (overhead)                                                                      \
			parse_burst(pkts, n, out, counts, origin, level, true, times, in_ports);   \
		else                                                                               \
			parse_burst(pkts, n, out, counts, origin, level, false, times, in_ports);  \
		break

static inline __attribute__((always_inline)) void parse_level(struct rte_mbuf *const *pkts,
	uint32_t n, struct key_burst *out, struct parse_counts *counts, enum origin origin,
	enum parse_level level, bool overhead, const struct packet_times *times,
	const uint16_t *in_ports)
{
	switch (level) {
		PARSE(PARSE_KEYS);
		PARSE(PARSE_DETAILS);
		PARSE(PARSE_EXTRA);
		PARSE(PARSE_TCP);
	}
}

void parse_burst_port(struct rte_mbuf *const *pkts, uint32_t n, struct key_burst *out,
	struct parse_counts *counts, enum parse_level level, bool overhead,
	const struct packet_times *times, const uint16_t *in_ports)
{
	parse_level(pkts, n, out, counts, ORIGIN_PORT, level, overhead, times, in_ports);
}

void parse_burst_replay(struct rte_mbuf *const *pkts, uint32_t n, struct key_burst *out,
	struct parse_counts *counts, enum parse_level level, bool overhead)
{
	parse_level(pkts, n, out, counts, ORIGIN_REPLAY, level, overhead, NULL, NULL);
}
