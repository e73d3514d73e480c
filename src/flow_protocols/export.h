/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Encodes messages of NetFlow, IPFIX and sFlow. The caller begins a message, adds records while
 * they fit, and ends the message before it sends it. The functions have no state and do no I/O.
 * flow_protocols/flow_protocol.h decodes the same protocols.
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
	uint32_t domain;    /* NetFlow v5: engine ID, 0 to 255; sFlow: sub-agent ID */
	uint32_t sampling;  /* N: one of N packets is sampled; 1: no sampling */
	uint8_t address[4]; /* sFlow: agent address */
	int64_t booted;     /* ns since 1970-01-01 UTC */
};

/* Reason why the exporter sends the record: values of flowEndReason (RFC 5102, 5.11.3). */
enum export_end {
	EXPORT_IDLE = 1,
	EXPORT_ACTIVE = 2,
	EXPORT_NO_ROOM = 5,
};

struct export_flow {
	struct key key; /* the 5-tuple */
	uint64_t packets, bytes;
	int64_t first, last;    /* ns since 1970-01-01 UTC; not before export_sender.booted */
	uint32_t input, output; /* SNMP interface indexes; NetFlow v5 sends only the low 16 bits */
	/*
	 * IPv4 address of the next router; 0.0.0.0: none. Records of IPv6 flows contain it as an
	 * IPv4-mapped IPv6 address (RFC 4798).
	 */
	uint8_t next_hop[4];
	uint8_t tcp_flags, tos;
	uint8_t end; /* enum export_end */
};

struct export_sample {
	struct sampler_state sampler;
	const uint8_t *header; /* first bytes of the Ethernet frame */
	/* bytes at `header`; the encoder sends at most EXPORT_SAMPLE_BYTES */
	uint32_t captured;
	uint32_t wire_len; /* frame length without FCS */
	uint32_t input, output;
	uint32_t prefix_len; /* prefix length of the routes to source and destination */
	uint8_t next_hop[4];
};

struct export_message {
	uint32_t len;
	uint32_t count;  /* templates, records and samples in the message */
	uint32_t data;   /* flow and options records */
	uint32_t set_at; /* offset of the set that is not closed yet; 0: none */
	uint16_t set_id;
	uint8_t bytes[EXPORT_BYTES_MAX];
};

/*
 * Encoder of one protocol. NetFlow and IPFIX have flow(); sFlow has sample() and counters(). The
 * other functions are NULL.
 */
struct export_ops {
	const char *suits;     /* text for --help: the protocol, then a comma and details */
	uint32_t header;       /* bytes of the message header */
	uint32_t sampling_max; /* largest sampling interval that a header can hold; 0: no limit */
	bool ipv4_only;
	/*
	 * Adds all templates, and an options record with the sampling interval. The message must be
	 * empty. NULL if the protocol has no templates.
	 */
	void (*templates)(struct export_message *message, const struct export_sender *sender);
	/* flow(), sample() and counters() return false if the message is full. */
	bool (*flow)(struct export_message *message, const struct export_sender *sender,
		const struct export_flow *flow);
	bool (*sample)(struct export_message *message, const struct export_sample *sample);
	bool (*counters)(struct export_message *message, uint32_t sequence,
		const struct interface_counters *counters);
	/*
	 * Writes the message header. `now` is the send time in ns since 1970-01-01 UTC. Returns the
	 * number by which the sender must increase its sequence number.
	 */
	uint32_t (*end)(struct export_message *message, const struct export_sender *sender,
		int64_t now, uint32_t sequence);
};

extern const struct export_ops export_netflow9, export_ipfix;

static inline const struct export_ops *export_ops_of(const struct export_sender *sender)
{
	return flow_protocols[sender->protocol]->exports;
}

/* Returns the number of protocols that have an encoder. They come first in flow_protocols[]. */
static inline uint32_t export_protocols(void)
{
	uint32_t n = 0;

	while (n < FLOW_PROTOCOL_COUNT && flow_protocols[n]->exports != NULL)
		n++;
	return n;
}

/* Begins an empty message. Adds the templates if `templates` is set and the protocol has any. */
static inline void export_begin(
	struct export_message *message, const struct export_sender *sender, bool templates)
{
	const struct export_ops *ops = export_ops_of(sender);

	message->len = ops->header;
	message->count = message->data = message->set_at = 0;
	if (templates && ops->templates != NULL)
		ops->templates(message, sender);
}

/* Converts ns to ms, modulo 2^32. */
static inline uint32_t export_ms(int64_t ns)
{
	return (uint32_t)(ns / (SECOND_NS / 1000));
}
