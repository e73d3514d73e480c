/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Decoder of NetFlow v5 and v9, IPFIX (RFC 7011) and sFlow v5. Pure functions: no clock, no files,
 * no reads outside data[0..len). The caller owns the templates of each domain.
 */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/record.h"

enum flow_protocol {
	FLOW_PROTOCOL_NETFLOW5,
	FLOW_PROTOCOL_NETFLOW9,
	FLOW_PROTOCOL_IPFIX,
	FLOW_PROTOCOL_SFLOW,
	FLOW_PROTOCOL_COUNT,
};

/* Names in options and rows: "netflow5", "netflow9", "ipfix", "sflow". */
extern const char *const flow_protocol_names[FLOW_PROTOCOL_COUNT];

/* Header of a message. */
struct datagram_header {
	enum flow_protocol protocol;
	uint32_t len;    /* bytes of the header */
	uint32_t total;  /* bytes of the message by its header, else of the datagram */
	uint32_t domain; /* v5: engine type << 8 | id; v9: source id; IPFIX: observation domain;
			    sFlow: sub-agent */
	uint32_t sequence;
	uint32_t count;    /* records or samples by the header; 0: no such field (IPFIX) */
	uint32_t uptime;   /* ms since the exporter started; wraps. 0: unknown (IPFIX) */
	int64_t exported;  /* ns since 1970-01-01 UTC by the exporter's clock; 0: unknown (sFlow) */
	uint16_t sampling; /* v5: sampling interval; 0: none */
	bool sampled;      /* v5: the header has a sampling mode */
	uint8_t agent_family; /* sFlow: 4 or 6; 0: unknown */
	uint8_t agent[16];    /* sFlow: agent address */
	/* Set by the collector, to recognize repeated messages. */
	uint64_t
		digest; /* flow_protocol_digest() of what follows the header; sFlow: of its start */
	int64_t came;   /* ns since 1970-01-01 UTC */
};

/* Fault of a message. */
enum decode_fault {
	DECODE_FINE,
	DECODE_SHORT,   /* shorter than its header */
	DECODE_VERSION, /* unknown protocol or version */
	DECODE_LENGTH,  /* a message, set, sample or record exceeds the data */
	DECODE_SET,     /* set with a length below 4 or a reserved number */
	DECODE_TEMPLATE, /* template without fields, with too many of length 0, or with too many bytes */
	DECODE_COUNT,            /* v9: record count differs from the sets; v5: from the length */
	DECODE_TEMPLATE_ROOM,    /* template memory of the domain is full */
	DECODE_TEMPLATE_CHANGES, /* more templates change than templates_begin() allows */
	DECODE_FAULT_COUNT,
};

/* Short description of each fault. */
extern const char *const decode_fault_words[DECODE_FAULT_COUNT];

/* Kind of a datagram by its version, supported or not. */
enum export_family {
	EXPORT_FAMILY_NONE, /* not a known export */
	EXPORT_FAMILY_NETFLOW,
	EXPORT_FAMILY_SFLOW,
	EXPORT_FAMILY_DTLS, /* encrypted; contents unknown */
};

struct export_version {
	enum export_family family;
	uint32_t number;
	bool supported; /* flow_protocol_read_header() accepts it */
};

/* Reason for an unusable record. */
enum decode_skip {
	DECODE_SKIP_NO_ADDRESSES,
	DECODE_SKIP_NO_PACKETS,
	DECODE_SKIP_SECTION,         /* detail: element that holds the packet section */
	DECODE_SKIP_HEADER_PROTOCOL, /* sFlow; detail: protocol of the sampled header */
	DECODE_SKIP_HEADER,          /* the packet header is truncated or inconsistent */
	DECODE_SKIP_OFFSET,        /* detail: element whose section lacks the start of the packet */
	DECODE_SKIP_SAMPLE_FORMAT, /* sFlow; detail: enterprise << 12 | format */
	DECODE_SKIP_FLOW_FORMAT,   /* same, for the flow records of a sample */
	DECODE_SKIP_OTHERS,        /* more than DECODE_SKIPPED_MAX reasons in one message */
	DECODE_SKIP_COUNT,
};

struct decode_skipped {
	enum decode_skip why;
	uint32_t detail;  /* 0: none */
	uint32_t records; /* or samples */
};

#define DECODE_SKIPPED_MAX 8 /* reasons per message; the last may be DECODE_SKIP_OTHERS */

#define DECODE_BATCH 64

/* Callbacks that receive the contents of a message, in order. All are mandatory. */
struct record_handler {
	struct flow_record *batch; /* [DECODE_BATCH], buffer for records */
	void *arg;
	/* Receives the first n > 0 records of the batch. */
	void (*records)(void *arg, uint32_t n);
	void (*option)(void *arg, const struct option_record *option);
	/* Receives the body of a data set whose template is unknown. */
	void (*unknown)(void *arg, uint16_t template_id, const uint8_t *set, uint32_t len);
	/* Reports a new or changed template. Sets that waited for it can be decoded now. */
	void (*template_known)(void *arg, uint16_t template_id);
	void (*counters)(void *arg, const struct interface_counters *counters);
	void (*sampler)(void *arg, const struct sampler_state *sampler);
};

/* Contents of a message. A fault does not discard the records before it. */
struct decode_result {
	enum decode_fault fault; /* first fault; the decoder continues if it can */
	uint32_t records;        /* flow records or sFlow flow samples passed to the sink */
	uint32_t options;        /* options records */
	uint32_t templates;      /* template definitions, including options templates */
	uint32_t samples;        /* sFlow: samples of any kind */
	uint32_t unusable;       /* records without counters or without a key */
	uint32_t harmless;       /* unusable records without packets: not IP, or events */
	/* Other unusable records, and events, by reason. */
	struct decode_skipped skipped[DECODE_SKIPPED_MAX];
	uint32_t nb_skipped;
	/*
	 * Data records including options: the unit of IPFIX sequence numbers. Unknown sets are not
	 * included.
	 */
	uint32_t data_records;
	bool unknown_sets; /* records of unknown sets are not counted */
	/*
	 * Work besides records: fields of definitions and of records without fixed layout,
	 * templates read or moved. Bounded by the length of the message.
	 */
	uint64_t work;
};

struct templates;

/* Reads the header of a message. Returns DECODE_FINE, DECODE_SHORT, DECODE_VERSION or DECODE_LENGTH. */
enum decode_fault flow_protocol_read_header(
	const uint8_t *data, uint32_t len, struct datagram_header *header);

/* Recognizes exports by their first bytes, including versions that are not decoded. */
struct export_version flow_protocol_identify(const uint8_t *data, uint32_t len);

/* Returns a hash without a key: senders can construct collisions. */
uint64_t flow_protocol_digest(const uint8_t *data, uint32_t len);

/* Returns true if all bytes are 0. */
bool flow_protocol_is_padding(const uint8_t *data, uint32_t len);

/* Returns true if the data looks like the start of an IPFIX message. */
bool flow_protocol_is_ipfix(const uint8_t *data, uint32_t len);

/*
 * Decodes the message data[0..len) with the header that flow_protocol_read_header() returned for it.
 * `templates` belong to the domain of the exporter; NULL for v5 and sFlow.
 */
struct decode_result flow_protocol_decode(const struct datagram_header *header,
	struct templates *templates, const uint8_t *data, uint32_t len,
	const struct record_handler *sink);

/*
 * Decodes a data set that arrived before its template. `header` is the header of its message.
 * Otherwise as flow_protocol_decode().
 */
struct decode_result flow_protocol_decode_set(const struct datagram_header *header,
	struct templates *templates, uint16_t template_id, const uint8_t *set, uint32_t len,
	const struct record_handler *sink);
