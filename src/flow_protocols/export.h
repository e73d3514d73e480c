/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Encoder of flow protocols: the counterpart of flow_protocols/flow_protocol.h. Begin a message,
 * add records while they fit, and end it before you send it. Pure functions.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"
#include "flow_protocols/flow_protocol.h"
#include "flow_protocols/record.h"
#include "key/key.h"

#define EXPORT_BYTES_MAX    1400
#define EXPORT_SAMPLE_BYTES 128 /* bytes of a sampled packet */

/* Identity of the exporter. */
struct export_sender {
	enum flow_protocol protocol;
	uint32_t domain;    /* v5: engine ID, below 256; sFlow: sub-agent */
	uint32_t sampling;  /* packets per sampled packet; 1: unsampled */
	uint8_t address[4]; /* sFlow: agent address */
	int64_t booted;     /* ns since 1970-01-01 UTC */
};

/* Reason for the end of a record, with the numbers of flowEndReason (RFC 5102, 5.11.3). */
enum export_end {
	EXPORT_IDLE = 1,
	EXPORT_ACTIVE = 2,
	EXPORT_NO_ROOM = 5,
};

struct export_flow {
	struct key key; /* the 5-tuple */
	uint64_t packets, bytes;
	int64_t first, last;    /* ns since 1970-01-01 UTC; at least `booted` */
	uint32_t input, output; /* interface indexes; v5 sends 16 bits */
	uint8_t next_hop[4];    /* zeros: none; sent as a mapped address for IPv6, as in RFC 4798 */
	uint8_t tcp_flags, tos;
	uint8_t end; /* enum export_end */
};

/* A packet sampled by sFlow. */
struct export_sample {
	struct sampler_state sampler;
	const uint8_t *header; /* start of an Ethernet frame */
	uint32_t captured;     /* bytes at `header`; at most EXPORT_SAMPLE_BYTES are sent */
	uint32_t wire_len;     /* frame length without FCS */
	uint32_t input, output;
	uint32_t prefix_len; /* prefix length of the routes to source and destination */
	uint8_t next_hop[4];
};

struct export_message {
	uint32_t len;
	uint32_t count;  /* templates, records and samples; 0: only the header */
	uint32_t data;   /* flow and options records */
	uint32_t set_at; /* offset of the open set; 0: none */
	uint16_t set_id;
	uint8_t bytes[EXPORT_BYTES_MAX];
};

/* Encoder of a protocol. It sends either flows, or samples and interface counters. */
struct export_ops {
	const char *suits;     /* for help; the name of the protocol is in front of the comma */
	uint32_t header;       /* bytes that end() writes at the start of the message */
	uint32_t sampling_max; /* largest sampling interval; 0: any */
	bool ipv4_only;
	/* Adds all templates to an empty message, and the sampling interval. NULL: none. */
	void (*templates)(struct export_message *message, const struct export_sender *sender);
	/* These return false if the message is full. */
	bool (*flow)(struct export_message *message, const struct export_sender *sender,
		const struct export_flow *flow);
	bool (*sample)(struct export_message *message, const struct export_sample *sample);
	bool (*counters)(struct export_message *message, uint32_t sequence,
		const struct interface_counters *counters);
	/*
	 * Ends a message that is sent at `now`, in ns since 1970-01-01 UTC. Returns the increment
	 * of the sender's sequence number.
	 */
	uint32_t (*end)(struct export_message *message, const struct export_sender *sender,
		int64_t now, uint32_t sequence);
};

extern const struct export_ops export_netflow9, export_ipfix;

static inline const struct export_ops *export_ops_of(const struct export_sender *sender)
{
	return flow_protocols[sender->protocol]->exports;
}

/* Returns the number of protocols with an encoder, which are the first ones. */
static inline uint32_t export_protocols(void)
{
	uint32_t n = 0;

	while (n < FLOW_PROTOCOL_COUNT && flow_protocols[n]->exports != NULL)
		n++;
	return n;
}

/* Begins a message, with templates if the caller wants and the protocol has them. */
static inline void export_begin(
	struct export_message *message, const struct export_sender *sender, bool templates)
{
	const struct export_ops *ops = export_ops_of(sender);

	message->len = ops->header;
	message->count = message->data = message->set_at = 0;
	if (templates && ops->templates != NULL)
		ops->templates(message, sender);
}

/* Returns milliseconds of ns. */
static inline uint32_t export_ms(int64_t ns)
{
	return (uint32_t)(ns / (SECOND_NS / 1000));
}
