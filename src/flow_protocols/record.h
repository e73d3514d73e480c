/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Contents of a datagram. Numbers are in host byte order, keys in network byte order. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "key/key.h"

/* The members of flow_record that are set; all others are 0. */
enum flow_has {
	/* `packets` since the previous record of the flow */
	FLOW_PACKETS = 1 << 0,
	/* `bytes` (layer 3) since the previous record of the flow */
	FLOW_BYTES = 1 << 1,
	/* `total_packets` since the start of the flow */
	FLOW_TOTAL_PACKETS = 1 << 2,
	FLOW_TOTAL_BYTES = 1 << 3,
	FLOW_LAYER2_BYTES = 1 << 4, /* `bytes` include layer 2 */
	FLOW_INPUT = 1 << 5,
	FLOW_OUTPUT = 1 << 6,
	FLOW_NEXT_HOP = 1 << 7,
	FLOW_DIRECTION = 1 << 8,
	FLOW_SAMPLER = 1 << 9,
	FLOW_SAMPLING = 1 << 10,
	FLOW_SAMPLE = 1 << 11,
	FLOW_REVERSE = 1 << 12,
	/* packets are sampled; the interval is unknown without FLOW_SAMPLING */
	FLOW_SAMPLED = 1 << 13,
	FLOW_SELECTED = 1 << 14,           /* the exporter selects flows (RFC 7014) */
	FLOW_LAYER2_TOTAL_BYTES = 1 << 15, /* `total_bytes` include layer 2 */
	FLOW_ENDED = 1 << 16,
	/* counts since the start of the session, so they include earlier records (Cisco ASA) */
	FLOW_SESSION = 1 << 17,
	FLOW_AGE = 1 << 18,
	FLOW_IDLE = 1 << 19,
	FLOW_CUT_TIMES = 1 << 20, /* `age` is up to 1 s too large, `idle` up to 1 s too small */
	FLOW_EXPORTER = 1 << 21,  /* the record came from a mediator (RFC 6183) */
	FLOW_EXPORTER_DOMAIN = 1 << 22,
};

enum flow_direction {
	FLOW_INGRESS,
	FLOW_EGRESS,
};

struct flow_record {
	struct key key;
	struct key_extra extra; /* in_port is set by the collector */
	uint32_t has;
	uint32_t input, output;
	uint32_t sampling; /* 1 of N packets is sampled */
	uint64_t sampler;  /* selectorId (IPFIX) or samplerId (v9) */
	uint64_t packets, bytes;
	uint64_t total_packets, total_bytes;
	/* ms from the first packet (age) and the last packet (idle) to the export */
	uint32_t age, idle;
	uint8_t next_hop[16]; /* IPv4 in the first four bytes */
	uint8_t exporter[16]; /* original exporter; IPv4 in the first four bytes */
	uint32_t exporter_domain;
	bool next_hop_ipv6, exporter_ipv6;
	uint8_t direction; /* enum flow_direction */
	uint8_t ttl;       /* largest TTL of its packets; 0: unknown */
	uint8_t vlan_tags;
	uint16_t template_id; /* 0: no template */
	uint16_t segment;     /* hash of the MAC addresses; 0: unknown */
};

/*
 * Port fields of other protocols may hold other values, such as ICMP type and code in NetFlow v5.
 */
static inline bool flow_has_ports(uint32_t proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_SCTP;
}

#define FLOW_RECORD_BLOCK 64

_Static_assert(sizeof(struct flow_record) % FLOW_RECORD_BLOCK == 0, "whole blocks");

/* The compiler expands these blocks inline. */
static inline void flow_record_clear(struct flow_record *record)
{
	for (size_t at = 0; at < sizeof(*record); at += FLOW_RECORD_BLOCK)
		memset((uint8_t *)record + at, 0, FLOW_RECORD_BLOCK);
}

/* The compiler expands these blocks inline. A call of memcpy() is slower. */
static inline void flow_record_copy(struct flow_record *to, const struct flow_record *from)
{
	for (size_t at = 0; at < sizeof(*to); at += FLOW_RECORD_BLOCK)
		memcpy((uint8_t *)to + at, (const uint8_t *)from + at, FLOW_RECORD_BLOCK);
}

enum sampling_source {
	SAMPLING_NONE, /* not sampled, as far as known */
	SAMPLING_SAMPLE,
	SAMPLING_HEADER,
	SAMPLING_OPTIONS,
	SAMPLING_RECORD,
	SAMPLING_CONFIGURED,
	SAMPLING_SOURCE_COUNT,
};

extern const char *const sampling_source_words[SAMPLING_SOURCE_COUNT];

/* packets are sampled at an unknown ratio */
#define SAMPLING_RATIO_UNKNOWN UINT32_MAX

enum option_record_has {
	OPTION_RECORD_SAMPLER = 1 << 0,   /* scope: one sampler */
	OPTION_RECORD_INTERFACE = 1 << 1, /* scope: one interface */
	OPTION_RECORD_SAMPLING = 1 << 2,  /* may be SAMPLING_RATIO_UNKNOWN */
	/* name of the interface in the scope, or of the exporter */
	OPTION_RECORD_NAME = 1 << 3,
	OPTION_RECORD_TEMPLATE = 1 << 4, /* scope: one template */
	OPTION_RECORD_PART = 1 << 5,     /* scope: one part */
	OPTION_RECORD_DOMAIN = 1 << 6,   /* scope: one domain */
	OPTION_RECORD_FLOWS = 1 << 7,    /* flows are selected, not packets (RFC 7014) */
};

/* Counters since the start of the exporter. */
enum loss_counter {
	LOSS_COUNTER_IGNORED_PACKETS,
	LOSS_COUNTER_IGNORED_BYTES,
	LOSS_COUNTER_FLOWS,
	LOSS_COUNTER_PACKETS,
	LOSS_COUNTER_BYTES,
	LOSS_COUNTER_COUNT,
};

/* Without a scope, it applies to the whole observation domain. */
struct option_record {
	uint32_t has; /* enum option_record_has */
	uint32_t interface;
	uint64_t sampler;
	/* hash of scopes that flow records do not have, such as line cards */
	uint64_t part;
	uint32_t domain;
	uint16_t template_id;
	uint8_t has_lost; /* bit i: lost[i] is set (enum loss_counter) */
	uint32_t sampling;
	uint32_t name_len;
	const uint8_t *name; /* points into the datagram; may contain any bytes */
	uint64_t lost[LOSS_COUNTER_COUNT];
};

/* Totals since the start of the agent. UINT64_MAX: unknown. Packets and discards wrap at 2^32. */
struct interface_counters {
	uint32_t interface;
	uint64_t speed; /* bit/s; 0: unknown */
	uint64_t in_bytes, in_packets, out_bytes, out_packets;
	uint64_t in_discards, out_discards;
};

/* Every sample contains this state of its sFlow sampler. */
struct sampler_state {
	uint64_t source; /* sFlowDataSource: class << 32 | index */
	uint32_t sequence;
	uint32_t sampling; /* 1 of N packets is sampled */
	uint32_t pool;     /* packets that the sampler has seen, modulo 2^32 */
	uint32_t drops;    /* samples that the agent lost, modulo 2^32 */
	/* 1: the sample is a packet that the switch discarded */
	uint32_t discarded;
};
