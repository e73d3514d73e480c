/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Decodes NetFlow v5 and v9, IPFIX (RFC 7011) and sFlow v5. The functions use no clock and no
 * files, and read no bytes outside data[0..len). The caller owns the templates of each observation
 * domain.
 */

#include <stdbool.h>
#include <stdint.h>

/*
 * meson.build generates this header. Its FLOW_PROTOCOLS contains FLOW_PROTOCOL(NAME, name) for
 * every protocol.
 */
#include "flow_protocols/flow_protocol_names.h"
#include "flow_protocols/record.h"

/* Defines FLOW_PROTOCOL_NETFLOW5 and so on, in the order of meson.build. */
#define FLOW_PROTOCOL(NUMBER, name) FLOW_PROTOCOL_##NUMBER,
enum flow_protocol { FLOW_PROTOCOLS FLOW_PROTOCOL_COUNT };
#undef FLOW_PROTOCOL

/* Header of a message. */
struct datagram_header {
	enum flow_protocol protocol;
	uint32_t len; /* bytes of the header */
	/* bytes of the message by its header, or of the datagram if the header has no length */
	uint32_t total;
	/*
	 * NetFlow v5: engine type << 8 | engine ID; v9: source ID; IPFIX: observation domain ID;
	 * sFlow: sub-agent ID
	 */
	uint32_t domain;
	uint32_t sequence;
	/* number of records or samples in the header; 0 for IPFIX, which has no such field */
	uint32_t count;
	uint32_t uptime; /* ms since the exporter started, modulo 2^32; 0: unknown, as in IPFIX */
	/*
	 * export time in ns since 1970-01-01 UTC, by the exporter's clock; 0: unknown, as in sFlow
	 */
	int64_t exported;
	uint16_t sampling;    /* NetFlow v5: sampling interval; 0: none */
	bool sampled;         /* NetFlow v5: the header contains a sampling mode */
	uint8_t agent_family; /* sFlow: 4 or 6; 0: unknown */
	uint8_t agent[16];    /* sFlow: agent address */
	/* The collector sets the next two fields, to recognize repeated messages. */
	uint64_t digest; /* hash of the bytes after the header, by flow_protocol_digest() */
	int64_t came;    /* arrival time, ns since 1970-01-01 UTC */
};

/* Fault of a message. */
enum decode_fault {
	DECODE_FINE,
	DECODE_SHORT,   /* shorter than its header */
	DECODE_VERSION, /* unknown protocol or version */
	DECODE_LENGTH,  /* a message, set, sample or record is longer than the data */
	DECODE_SET,     /* a set has a length below 4, or a reserved set ID */
	/* a template has no fields, too many fields of length 0, or records that are too long */
	DECODE_TEMPLATE,
	DECODE_COUNT,         /* the record count in the header does not match the contents */
	DECODE_TEMPLATE_ROOM, /* the memory limit of the domain's templates is reached */
	/* more template changes than templates_begin() allows in one message */
	DECODE_TEMPLATE_CHANGES,
	DECODE_FAULT_COUNT,
};

extern const char *const decode_fault_words[DECODE_FAULT_COUNT];

/* Kind of a datagram, recognized by its first bytes. */
enum export_family {
	EXPORT_FAMILY_NONE,      /* not a known flow protocol */
	EXPORT_FAMILY_SUPPORTED, /* a version that flow_protocol_read_header() accepts */
	EXPORT_FAMILY_NETFLOW,
	EXPORT_FAMILY_SFLOW,
	EXPORT_FAMILY_DTLS, /* encrypted; contents unknown */
};

struct export_version {
	enum export_family family;
	uint32_t number; /* 0: supported or none */
};

/* Reason why a record cannot be used. `detail` is that of struct decode_skipped. */
enum decode_skip {
	DECODE_SKIP_NO_ADDRESSES,
	DECODE_SKIP_NO_PACKETS,
	/* detail: information element of the unsupported packet section */
	DECODE_SKIP_SECTION,
	DECODE_SKIP_HEADER_PROTOCOL, /* detail: header_protocol of the sampled header (sFlow) */
	DECODE_SKIP_HEADER,          /* no detail: the packet header is truncated or inconsistent */
	/* detail: information element whose packet section lacks the start of the packet */
	DECODE_SKIP_OFFSET,
	DECODE_SKIP_SAMPLE_FORMAT, /* detail: enterprise << 12 | format of an sFlow sample */
	/* detail: enterprise << 12 | format of a flow record in an sFlow sample */
	DECODE_SKIP_FLOW_FORMAT,
	/* no detail: the message has more than DECODE_SKIPPED_MAX reasons */
	DECODE_SKIP_OTHERS,
};

struct decode_skipped {
	enum decode_skip why;
	uint32_t detail;  /* 0: none */
	uint32_t records; /* or samples */
};

#define DECODE_SKIPPED_MAX 8 /* most reasons per message; the last may be DECODE_SKIP_OTHERS */

#define DECODE_BATCH 64

/*
 * Callbacks that receive the contents of a message, in the order of the message. None may be NULL.
 */
struct record_handler {
	struct flow_record *batch; /* array of DECODE_BATCH records, which the decoder fills */
	void *arg;
	/* Receives batch[0] to batch[n - 1]; n > 0. */
	void (*records)(void *arg, uint32_t n);
	void (*option)(void *arg, const struct option_record *option);
	/* Receives the body of a data set whose template is unknown. */
	void (*unknown)(void *arg, uint16_t template_id, const uint8_t *set, uint32_t len);
	/* Reports a new or changed template. The caller can now decode sets that waited for it. */
	void (*template_known)(void *arg, uint16_t template_id);
	void (*counters)(void *arg, const struct interface_counters *counters);
	void (*sampler)(void *arg, const struct sampler_state *sampler);
};

/* Result of decoding a message. Records before a fault are valid. */
struct decode_result {
	enum decode_fault fault; /* the first fault; the decoder continues after it if it can */
	/* flow records, or sFlow flow samples, passed to record_handler.records() */
	uint32_t records;
	uint32_t options;   /* options records */
	uint32_t templates; /* template definitions, including options templates */
	uint32_t samples;   /* sFlow: samples of any kind */
	uint32_t unusable;  /* records without counters or without a key */
	/* unusable records that describe no IP packets, so that nothing is lost */
	uint32_t harmless;
	/* Unusable records by reason. Records of non-IP frames are not included. */
	struct decode_skipped skipped[DECODE_SKIPPED_MAX];
	uint32_t nb_skipped;
	/*
	 * Data records, including options records. IPFIX sequence numbers count them. Records of
	 * data sets with an unknown template are missing.
	 */
	uint32_t data_records;
	bool unknown_sets; /* the message has data sets with an unknown template */
	/*
	 * Number of steps in addition to records of fixed length: fields read in templates and in
	 * records of variable length, and templates read or moved in memory. The length of the
	 * message limits it.
	 */
	uint64_t work;
};

struct templates;
struct export_ops; /* flow_protocols/export.h */

/* Unit that the sequence numbers of an exporter count. */
enum sequence_convention {
	SEQUENCE_UNSURE,   /* not recognized yet */
	SEQUENCE_MESSAGES, /* messages before this one; the standard of v9 and sFlow */
	SEQUENCE_RECORDS,  /* data records before this message; the standard of v5 and IPFIX */
	SEQUENCE_FLOWS,    /* data records before this message, except options records */
	/* data records up to and including this message, except options records (softflowd) */
	SEQUENCE_FLOWS_AFTER,
	SEQUENCE_RECORDS_AFTER, /* data records up to and including this message */
	SEQUENCE_CONSTANT,      /* always the same number: losses cannot be seen */
	SEQUENCE_CONVENTION_COUNT,
};

/*
 * Functions and properties of a flow protocol. Each protocol defines one object flow_protocol_NAME.
 * meson.build lists the names.
 */
struct flow_protocol_ops {
	const char *name; /* in options and rows */
	/* number at the start of each message, and its length: 2 or 4 bytes */
	uint32_t version, version_bytes;
	/*
	 * Fills in the header of a message. The caller has checked the version, and has set
	 * header->protocol, and header->total = len.
	 */
	enum decode_fault (*read_header)(
		const uint8_t *data, uint32_t len, struct datagram_header *header);
	struct decode_result (*decode)(const struct datagram_header *header,
		struct templates *templates, const uint8_t *data, uint32_t len,
		const struct record_handler *sink);
	/*
	 * Returns true if `data` can be the start of a message. NULL if messages do not contain
	 * their length.
	 */
	bool (*is_framed)(const uint8_t *data, uint32_t len);
	enum sequence_convention sequence; /* unit of sequence numbers by the standard */
	/* origin of flow_record.sampling; with SAMPLING_SAMPLE every record is a sampled packet */
	enum sampling_source sampling;
	/* datagram_header.count is the number of data records, including unusable ones */
	bool counts_records;
	uint16_t port; /* usual destination port */
	bool has_templates;
	bool whole_seconds; /* datagram_header.exported is truncated to whole seconds */
	/* options records of observation domain 0 apply to all domains (RFC 7011, 3.1) */
	bool process_domain;
	const struct export_ops *exports; /* encoder; NULL: none */
};

extern const struct flow_protocol_ops *const flow_protocols[FLOW_PROTOCOL_COUNT];

/* Reads the header of a message. Returns DECODE_FINE, DECODE_SHORT, DECODE_VERSION or DECODE_LENGTH. */
enum decode_fault flow_protocol_read_header(
	const uint8_t *data, uint32_t len, struct datagram_header *header);

/*
 * Recognizes a flow protocol by the first bytes of a datagram, also in versions that cannot be
 * decoded.
 */
struct export_version flow_protocol_identify(const uint8_t *data, uint32_t len);

/*
 * Returns a hash of the bytes. If there are more than 128, it reads four blocks of 32 bytes, which
 * include the first and the last byte: records of different messages differ there. It has no secret
 * key, so a sender can construct collisions.
 */
uint64_t flow_protocol_digest(const uint8_t *data, uint32_t len);

/* Returns true if all bytes are 0. */
bool flow_protocol_is_padding(const uint8_t *data, uint32_t len);

/*
 * Returns true if the data looks like the start of a message whose header contains its length, such
 * as IPFIX.
 */
bool flow_protocol_is_framed(const uint8_t *data, uint32_t len);

/* Adds `records` unusable records with the reason `why` to the result. */
void flow_protocol_skip(
	struct decode_result *result, enum decode_skip why, uint32_t detail, uint32_t records);

/*
 * Decodes the message data[0..len). `header` is the result of flow_protocol_read_header() for this
 * message. `templates` are those of its observation domain; NULL for NetFlow v5 and sFlow.
 */
struct decode_result flow_protocol_decode(const struct datagram_header *header,
	struct templates *templates, const uint8_t *data, uint32_t len,
	const struct record_handler *sink);

/*
 * Decodes a data set that arrived before its template. `header` is the header of the message that
 * contained the set. The other parameters are those of flow_protocol_decode().
 */
struct decode_result flow_protocol_decode_set(const struct datagram_header *header,
	struct templates *templates, uint16_t template_id, const uint8_t *set, uint32_t len,
	const struct record_handler *sink);
