/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Contents of a datagram, independent of the protocol: flow records, sampled packets, options and
 * interface counters. Numbers are in host byte order, keys in network byte order (key/key.h).
 */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "key/key.h"

/* Bits of flow_record.has. They tell which fields are set; all others are 0. */
enum flow_has {
	/* member `packets`, counted since the previous record of the flow */
	FLOW_PACKETS = 1 << 0,
	/* member `bytes` (layer 3), counted since the previous record of the flow */
	FLOW_BYTES = 1 << 1,
	/* member `total_packets`, counted since the start of the flow */
	FLOW_TOTAL_PACKETS = 1 << 2,
	FLOW_TOTAL_BYTES = 1 << 3,
	FLOW_LAYER2_BYTES = 1 << 4, /* `bytes` include layer 2 */
	FLOW_INPUT = 1 << 5,
	FLOW_OUTPUT = 1 << 6,
	FLOW_NEXT_HOP = 1 << 7,
	FLOW_DIRECTION = 1 << 8,
	/* member `sampler`; an options record gives its sampling interval */
	FLOW_SAMPLER = 1 << 9,
	/* member `sampling`, from the record, the sample or the message header */
	FLOW_SAMPLING = 1 << 10,
	FLOW_SAMPLE = 1 << 11,  /* the record is one sampled packet; `packets` is 1 */
	FLOW_REVERSE = 1 << 12, /* reverse direction of a biflow (RFC 5103) */
	/* packets are sampled; without FLOW_SAMPLING the interval is unknown */
	FLOW_SAMPLED = 1 << 13,
	FLOW_SELECTED = 1 << 14,           /* the exporter selects flows (RFC 7014) */
	FLOW_LAYER2_TOTAL_BYTES = 1 << 15, /* `total_bytes` include layer 2 */
	FLOW_ENDED = 1 << 16,              /* last record of the flow */
	/* counts since the start of the session (Cisco ASA); they include earlier records */
	FLOW_SESSION = 1 << 17,
	FLOW_AGE = 1 << 18,       /* `age` */
	FLOW_IDLE = 1 << 19,      /* `idle` */
	FLOW_CUT_TIMES = 1 << 20, /* `age` is up to 1 s too large, `idle` up to 1 s too small */
	FLOW_EXPORTER = 1 << 21,  /* `exporter`: the record came from a mediator (RFC 6183) */
	FLOW_EXPORTER_DOMAIN = 1 << 22, /* `exporter_domain` */
};

enum flow_direction {
	FLOW_INGRESS,
	FLOW_EGRESS,
};

struct flow_record {
	struct key key;         /* the 5-tuple */
	struct key_extra extra; /* further key fields of the record; the collector sets in_port */
	uint32_t has;           /* enum flow_has */
	uint32_t input, output; /* SNMP interface indexes */
	uint32_t sampling;      /* N: one of N packets is sampled; 1: no sampling */
	uint64_t sampler;       /* selectorId (IPFIX) or samplerId (v9) */
	uint64_t packets, bytes;
	uint64_t total_packets, total_bytes;
	/* ms from the first packet (age) and the last packet (idle) to the export */
	uint32_t age, idle;
	uint8_t next_hop[16];     /* IPv4 in the first four bytes */
	uint8_t exporter[16];     /* the original exporter; IPv4 in the first four bytes */
	uint32_t exporter_domain; /* observation domain of the original exporter */
	bool next_hop_ipv6, exporter_ipv6;
	uint8_t direction;    /* enum flow_direction */
	uint8_t ttl;          /* largest TTL of its packets; 0: unknown */
	uint8_t vlan_tags;    /* number of VLAN tags in its frames */
	uint16_t template_id; /* v9 and IPFIX; else 0 */
	uint16_t segment;     /* hash of the MAC addresses of a sampled frame; 0: unknown */
};

/*
 * Returns true if the protocol has ports. For other protocols, the port fields may hold other
 * values, such as ICMP type and code in NetFlow v5.
 */
static inline bool flow_has_ports(uint32_t proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_SCTP;
}

#define FLOW_RECORD_BLOCK 64

_Static_assert(sizeof(struct flow_record) % FLOW_RECORD_BLOCK == 0, "whole blocks");

/* Sets all fields to 0, in blocks that the compiler expands inline. */
static inline void flow_record_clear(struct flow_record *record)
{
	for (size_t at = 0; at < sizeof(*record); at += FLOW_RECORD_BLOCK)
		memset((uint8_t *)record + at, 0, FLOW_RECORD_BLOCK);
}

/* Copies a record in blocks that the compiler expands inline. A call of memcpy() is slower. */
static inline void flow_record_copy(struct flow_record *to, const struct flow_record *from)
{
	for (size_t at = 0; at < sizeof(*to); at += FLOW_RECORD_BLOCK)
		memcpy((uint8_t *)to + at, (const uint8_t *)from + at, FLOW_RECORD_BLOCK);
}

enum sampling_source {
	SAMPLING_NONE, /* no sampling is known: each packet counts once */
	SAMPLING_SAMPLE,
	SAMPLING_HEADER,
	SAMPLING_OPTIONS,
	SAMPLING_RECORD,
	SAMPLING_CONFIGURED,
	SAMPLING_SOURCE_COUNT,
};

extern const char *const sampling_source_words[SAMPLING_SOURCE_COUNT];

/* Value of a sampling interval if packets are sampled at an unknown ratio. */
#define SAMPLING_RATIO_UNKNOWN UINT32_MAX

enum option_record_has {
	OPTION_RECORD_SAMPLER = 1 << 0,   /* scope: `sampler` */
	OPTION_RECORD_INTERFACE = 1 << 1, /* scope: `interface` */
	OPTION_RECORD_SAMPLING = 1 << 2,  /* `sampling`, which may be SAMPLING_RATIO_UNKNOWN */
	/* member `name`: of the interface in the scope; of the exporter if the scope has no interface */
	OPTION_RECORD_NAME = 1 << 3,
	OPTION_RECORD_TEMPLATE = 1 << 4, /* scope: `template_id` */
	OPTION_RECORD_PART = 1 << 5,     /* scope: `part` */
	OPTION_RECORD_DOMAIN = 1 << 6,   /* scope: `domain` */
	OPTION_RECORD_FLOWS = 1 << 7,    /* the sampling selects flows, not packets (RFC 7014) */
};

/* Loss counters of an exporter, which count since its start. */
enum loss_counter {
	LOSS_COUNTER_IGNORED_PACKETS, /* packets not metered */
	LOSS_COUNTER_IGNORED_BYTES,
	LOSS_COUNTER_FLOWS, /* flows metered but not sent */
	LOSS_COUNTER_PACKETS,
	LOSS_COUNTER_BYTES,
	LOSS_COUNTER_COUNT,
};

/* Options record. If it has no scope, it applies to the whole observation domain. */
struct option_record {
	uint32_t has; /* enum option_record_has */
	uint32_t interface;
	uint64_t sampler;
	/* hash of scopes that flow records do not have, such as line card, cache or process */
	uint64_t part;
	uint32_t domain;
	uint16_t template_id;
	uint8_t has_lost; /* bit i: lost[i] is set (enum loss_counter) */
	uint32_t sampling;
	uint32_t name_len;
	const uint8_t *name; /* points into the datagram; may contain any bytes */
	uint64_t lost[LOSS_COUNTER_COUNT];
};

/*
 * Interface counters of sFlow since the start of the agent. UINT64_MAX: unknown. Packets and
 * discards are sent as 32 bits, so they and their sums wrap at 2^32.
 */
struct interface_counters {
	uint32_t interface;
	uint64_t speed; /* bit/s; 0: unknown */
	uint64_t in_bytes, in_packets, out_bytes, out_packets;
	uint64_t in_discards, out_discards;
};

/* State of an sFlow sampler. Each of its samples contains it. */
struct sampler_state {
	uint64_t source;   /* sFlowDataSource: class << 32 | index */
	uint32_t sequence; /* number of the sample, from 1 */
	uint32_t sampling; /* N: one of N packets is sampled */
	uint32_t pool;     /* packets that the sampler processed, modulo 2^32 */
	uint32_t drops;    /* samples that the agent lost, modulo 2^32 */
	/* 1: the sample is a packet that the switch discarded (discarded_packet) */
	uint32_t discarded;
};
