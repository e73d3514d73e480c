/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Encodes NetFlow, IPFIX and sFlow messages: begin, add records while they fit, end. */

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"
#include "flow_protocols/flow_protocol.h"
#include "flow_protocols/record.h"
#include "key/key.h"

#define EXPORT_BYTES_MAX    1400
#define EXPORT_SAMPLE_BYTES 128

struct export_sender {
	enum flow_protocol protocol;
	uint32_t domain;   /* NetFlow v5: engine ID (0 to 255); sFlow: sub-agent ID */
	uint32_t sampling; /* 1 of N packets is sampled */
	uint8_t address[4];
	int64_t booted; /* ns since 1970-01-01 UTC */
};

/* flowEndReason (RFC 5102, 5.11.3) */
enum export_end {
	EXPORT_IDLE = 1,
	EXPORT_ACTIVE = 2,
	EXPORT_NO_ROOM = 5,
};

struct export_flow {
	struct key key;
	uint64_t packets, bytes;
	int64_t first, last;    /* ns since 1970-01-01 UTC; not before export_sender.booted */
	uint32_t input, output; /* SNMP indexes; NetFlow v5 sends only the low 16 bits */
	/* IPv4; records of IPv6 flows contain it as an IPv4-mapped address */
	uint8_t next_hop[4];
	uint8_t tcp_flags, tos;
	uint8_t end;
};

struct export_sample {
	struct sampler_state sampler;
	const uint8_t *header;
	/* may exceed EXPORT_SAMPLE_BYTES; the encoder sends no more than that */
	uint32_t captured;
	uint32_t wire_len;
	uint32_t input, output;
	uint32_t prefix_len;
	uint8_t next_hop[4];
};

struct export_message {
	uint32_t len;
	uint32_t count;
	uint32_t data;
	uint32_t set_at; /* offset of the open set; 0: none */
	uint16_t set_id;
	uint8_t bytes[EXPORT_BYTES_MAX];
};

/* NetFlow and IPFIX have flow(); sFlow has sample() and counters(). */
struct export_ops {
	const char *suits; /* for --help: the protocol, a comma, details */
	uint32_t header;
	uint32_t sampling_max; /* largest value of export_sender.sampling; 0: no limit */
	bool ipv4_only;
	/* Adds the templates to an empty message. NULL if the protocol has no templates. */
	void (*templates)(struct export_message *message, const struct export_sender *sender);
	/* flow(), sample() and counters() return false if the message is full. */
	bool (*flow)(struct export_message *message, const struct export_sender *sender,
		const struct export_flow *flow);
	bool (*sample)(struct export_message *message, const struct export_sample *sample);
	bool (*counters)(struct export_message *message, uint32_t sequence,
		const struct interface_counters *counters);
	/* Returns the increment of the sender's sequence number. `now`: ns since 1970-01-01 UTC. */
	uint32_t (*end)(struct export_message *message, const struct export_sender *sender,
		int64_t now, uint32_t sequence);
};

extern const struct export_ops export_netflow9, export_ipfix;

static inline const struct export_ops *export_ops_of(const struct export_sender *sender)
{
	return flow_protocols[sender->protocol]->exports;
}

static inline uint32_t export_protocols(void)
{
	uint32_t n = 0;

	while (n < FLOW_PROTOCOL_COUNT && flow_protocols[n]->exports != NULL)
		n++;
	return n;
}

static inline void export_begin(
	struct export_message *message, const struct export_sender *sender, bool templates)
{
	const struct export_ops *ops = export_ops_of(sender);

	message->len = ops->header;
	message->count = message->data = message->set_at = 0;
	if (templates && ops->templates != NULL)
		ops->templates(message, sender);
}

static inline uint32_t export_ms(int64_t ns)
{
	return (uint32_t)(ns / (SECOND_NS / 1000));
}
