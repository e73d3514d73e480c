/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * NetFlow v5 and v9, IPFIX (RFC 7011) and sFlow v5, from bytes to records. Pure functions: no
 * clock, no files, nothing is read outside data[0..len). Only a domain's templates are kept, by
 * who calls.
 */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/record.h"

enum wire_protocol {
	WIRE_NETFLOW5,
	WIRE_NETFLOW9,
	WIRE_IPFIX,
	WIRE_SFLOW,
	WIRE_PROTOCOL_COUNT,
};

/* "netflow5", "netflow9", "ipfix", "sflow". */
extern const char *const wire_protocol_names[WIRE_PROTOCOL_COUNT];

/* What stands before the records. */
struct wire_header {
	enum wire_protocol protocol;
	uint32_t len;    /* of the header; records follow */
	uint32_t total;  /* bytes of the whole message, as its header or else the datagram says */
	uint32_t domain; /* v5: engine type << 8 | id; v9: source id; IPFIX: observation domain;
			    sFlow: sub-agent */
	uint32_t sequence;
	uint32_t count;   /* records or samples, as the header says; 0: it does not (IPFIX) */
	uint32_t uptime;  /* ms since the exporter started; wraps. 0: not told (IPFIX) */
	int64_t exported; /* ns since 1970-01-01 UTC, by the exporter's clock; 0: not told (sFlow) */
	uint16_t sampling;    /* v5: the interval; 0: none is said */
	bool sampled;         /* v5: the header has a sampling mode */
	uint8_t agent_family; /* sFlow: 4 or 6, or 0 where it is unknown */
	uint8_t agent[16];    /* sFlow: the agent's address */
	/* Set by the receiver, for sequence numbers. */
	uint64_t digest; /* wire_digest() of what follows the header; sFlow: of its start */
	int64_t came;    /* ns since 1970-01-01 UTC */
};

/* What is wrong with a message. */
enum wire_fault {
	WIRE_FINE,
	WIRE_SHORT,    /* less than a header */
	WIRE_VERSION,  /* of no protocol that is known */
	WIRE_LENGTH,   /* a message, set, sample or record longer than what is there */
	WIRE_SET,      /* a set's length is below 4, or its number reserved */
	WIRE_TEMPLATE, /* a template without fields, with too many of length 0, or too many bytes */
	WIRE_COUNT,    /* v9: the count of records disagrees with the sets; v5: with the length */
	WIRE_TEMPLATE_ROOM,    /* the domain's templates have no room for another */
	WIRE_TEMPLATE_CHANGES, /* more templates change than templates_begin() allows */
	WIRE_FAULT_COUNT,
};

/* A few words for each. */
extern const char *const wire_fault_words[WIRE_FAULT_COUNT];

/* Version word of a datagram, supported or not. */
enum wire_family {
	WIRE_FAMILY_NONE, /* no export that is known */
	WIRE_FAMILY_NETFLOW,
	WIRE_FAMILY_SFLOW,
	WIRE_FAMILY_DTLS, /* encrypted: its contents are unknown */
};

struct wire_version {
	enum wire_family family;
	uint32_t number;
	bool supported; /* wire_read_header() reads it */
};

/* Reason for an unusable record. */
enum wire_skip {
	WIRE_SKIP_NO_ADDRESSES,
	WIRE_SKIP_NO_PACKETS,
	WIRE_SKIP_SECTION,         /* detail: the element that holds a section of the packet */
	WIRE_SKIP_HEADER_PROTOCOL, /* sFlow; detail: the protocol of the sampled header */
	WIRE_SKIP_HEADER,          /* the packet's header is cut or contradictory */
	WIRE_SKIP_OFFSET,          /* detail: the element whose section has no beginning */
	WIRE_SKIP_SAMPLE_FORMAT,   /* sFlow; detail: enterprise << 12 | format */
	WIRE_SKIP_FLOW_FORMAT,     /* the same, of the flow records of a sample */
	WIRE_SKIP_OTHERS,          /* reasons beyond WIRE_SKIPPED_MAX of one message */
	WIRE_SKIP_COUNT,
};

struct wire_skipped {
	enum wire_skip why;
	uint32_t detail;  /* 0: none */
	uint32_t records; /* or samples */
};

#define WIRE_SKIPPED_MAX 8 /* reasons of one message; the last may be WIRE_SKIP_OTHERS */

#define WIRE_BATCH 64

/* Who is told what a message says, in its order. Every function must be there. */
struct wire_sink {
	struct flow_record *batch; /* [WIRE_BATCH], where records are put together */
	void *arg;
	/* The first n of the batch: n > 0. */
	void (*records)(void *arg, uint32_t n);
	void (*option)(void *arg, const struct wire_option *option);
	/* A data set (its records, without the set's header) whose template is not known. */
	void (*unknown)(void *arg, uint16_t template_id, const uint8_t *set, uint32_t len);
	/* A template that is new, or another than before; what waits for it can be decoded. */
	void (*template_known)(void *arg, uint16_t template_id);
	void (*counters)(void *arg, const struct wire_counters *counters);
	void (*sampler)(void *arg, const struct wire_sampler *sampler);
};

/* What was in a message. Faults do not undo what came before them. */
struct wire_result {
	enum wire_fault fault; /* the first; what could still be decoded was */
	uint32_t records;      /* of flows, or sFlow's flow samples, given to the sink */
	uint32_t options;      /* data records of options templates */
	uint32_t templates;    /* definitions, of options too */
	uint32_t samples;      /* sFlow: samples of any kind */
	uint32_t unusable;     /* records without counters or without a key */
	uint32_t harmless;     /* of these, records without packets: of no IP, or events */
	/* The other unusable records, and events, by reason. */
	struct wire_skipped skipped[WIRE_SKIPPED_MAX];
	uint32_t nb_skipped;
	/* Data records, options' too: what an IPFIX sequence counts. Those of unknown sets are
	 * not among them. */
	uint32_t data_records;
	bool unknown_sets; /* some could not be counted */
	/* Steps apart from records: fields of definitions and of records that are walked, templates
	 * that are read or moved. Bounded by the message's length. */
	uint64_t work;
};

struct templates;

/* Reads a message's header. WIRE_FINE, WIRE_SHORT, WIRE_VERSION or WIRE_LENGTH. */
enum wire_fault wire_read_header(const uint8_t *data, uint32_t len, struct wire_header *header);

/* Recognizes exports by their first bytes: also those of versions that are not decoded. */
struct wire_version wire_identify(const uint8_t *data, uint32_t len);

/* Returns a hash of the bytes. It is not keyed. */
uint64_t wire_digest(const uint8_t *data, uint32_t len);

/* Returns true if all bytes are 0. */
bool wire_is_padding(const uint8_t *data, uint32_t len);

/* Returns true if a stream's bytes look like the start of an IPFIX message. */
bool wire_is_ipfix(const uint8_t *data, uint32_t len);

/*
 * Decodes the message data[0..len) whose header was read from it. `templates` are those of its
 * exporter's domain; NULL for v5 and sFlow.
 */
struct wire_result wire_decode(const struct wire_header *header, struct templates *templates,
	const uint8_t *data, uint32_t len, const struct wire_sink *sink);

/*
 * Decodes a data set that waited: records of the template, of a message with this header (its
 * times). As wire_decode().
 */
struct wire_result wire_decode_set(const struct wire_header *header, struct templates *templates,
	uint16_t template_id, const uint8_t *set, uint32_t len, const struct wire_sink *sink);
