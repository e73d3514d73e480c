/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Datagrams as exporters send them, the other way round than flow_protocols/flow_protocol.h: a
 * message is begun, filled while there is room, and ended when it leaves. Pure functions.
 */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/flow_protocol.h"
#include "flow_protocols/record.h"
#include "key/key.h"

#define EXPORT_BYTES_MAX      1400
#define EXPORT_SAMPLE_BYTES   128   /* of a sampled packet's header */
#define EXPORT_V5_SAMPLES_MAX 16383 /* the interval has 14 bits in a header of v5 */

/* Who sends. */
struct export_sender {
	enum wire_protocol protocol;
	uint32_t domain;    /* v5: the engine's id, below 256; sFlow: the sub-agent */
	uint32_t sampling;  /* of so many packets one is looked at; 1: all */
	uint8_t address[4]; /* sFlow: the agent's */
	int64_t booted;     /* ns since 1970-01-01 UTC */
};

/* Why a record ends; the numbers are those of flowEndReason (RFC 5102, 5.11.3). */
enum export_end {
	EXPORT_IDLE = 1,
	EXPORT_ACTIVE = 2,
	EXPORT_NO_ROOM = 5,
};

struct export_flow {
	struct key key; /* the 5-tuple */
	uint64_t packets, bytes;
	int64_t first, last;    /* ns since 1970-01-01 UTC, not before the sender booted */
	uint32_t input, output; /* interfaces; v5 has 16 bits for them */
	uint8_t next_hop[4];    /* zeros: none. Of IPv6 it is said mapped, as in RFC 4798 */
	uint8_t tcp_flags, tos;
	uint8_t end; /* enum export_end */
};

/* A packet that sFlow sampled. */
struct export_sample {
	struct wire_sampler sampler;
	const uint8_t *header; /* of an Ethernet frame */
	uint32_t captured;     /* at header; no more than EXPORT_SAMPLE_BYTES of them are sent */
	uint32_t wire_len;     /* without FCS */
	uint32_t input, output;
	uint32_t prefix_len; /* of the routes to source and destination */
	uint8_t next_hop[4];
};

struct export_message {
	uint32_t len;
	uint32_t count;  /* templates, records and samples; 0: nothing but a header */
	uint32_t data;   /* records of flows and options */
	uint32_t set_at; /* where the open set begins; 0: none is open */
	uint16_t set_id;
	uint8_t bytes[EXPORT_BYTES_MAX];
};

void export_begin(struct export_message *message, const struct export_sender *sender);

/* v9 and IPFIX, in an empty message: all templates and, where packets are sampled, the interval. */
void export_templates(struct export_message *message, const struct export_sender *sender);

/* Each returns false where the message has no room. v5 takes no IPv6. */
bool export_flow(struct export_message *message, const struct export_sender *sender,
	const struct export_flow *flow);
bool export_sample(struct export_message *message, const struct export_sample *sample);
bool export_counters(
	struct export_message *message, uint32_t sequence, const struct wire_counters *counters);

/*
 * It leaves at `now`, ns since 1970-01-01 UTC. Returns by how much the sender's sequence number
 * grows.
 */
uint32_t export_end(struct export_message *message, const struct export_sender *sender, int64_t now,
	uint32_t sequence);

#define EXPORT_SFLOW_HEADER 28

void export_end_sflow(struct export_message *message, const struct export_sender *sender,
	int64_t now, uint32_t sequence);
