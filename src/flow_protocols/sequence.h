/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Sequence numbers of an exporter: detects lost, reordered and repeated messages, and restarts.
 * Exporters count different units, even of the same protocol. The first messages show which
 * (docs/COLLECTOR.md).
 */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/flow_protocol.h"

extern const char *const sequence_convention_words[SEQUENCE_CONVENTION_COUNT];

#define SEQUENCE_WINDOW 64 /* messages that may arrive late or repeated */

/* The message to which the next one is compared. */
struct sequence_base {
	uint32_t number;        /* sequence number */
	uint32_t data;          /* data records */
	uint32_t flows;         /* data records without options */
	bool uncertain;         /* not all of its records could be counted */
	uint32_t uptime;        /* ms; 0: unknown */
	int64_t exported, came; /* ns; exported 0: unknown */
};

/* Hashes of a received message. */
struct sequence_print {
	uint32_t whole;
	uint32_t body; /* without the header; 0: not counted, or its copy arrived */
};

struct sequence {
	enum flow_protocol protocol;
	enum sequence_convention convention;
	/* Private. The message that is furthest ahead. */
	bool started;
	struct sequence_base base;
	/* A message with a number out of range, or the base before a jump. */
	struct sequence_base aside;
	bool aside_proven;          /* it was a base */
	uint32_t nb_aside;          /* messages in succession that continue it; 0: unused */
	uint32_t aside_age;         /* later messages that continued the base */
	uint32_t aside_lost;        /* datagrams reported as lost between it and the base */
	uint32_t missing;           /* datagrams reported as lost and not arrived since */
	int64_t first_came;         /* ns */
	uint64_t taken;             /* messages since first_came */
	uint64_t messages, records; /* received; their ratio converts lost records to datagrams */
	uint64_t lost, lost_units;  /* reported so far, if the numbers count records */
	struct sequence_print recent[SEQUENCE_WINDOW];
	uint32_t nb_recent; /* total; modulo SEQUENCE_WINDOW: position in the ring */
	uint32_t votes[SEQUENCE_CONVENTION_COUNT];
};

/* Relation of a message to the messages before it, the worst first. */
enum sequence_fit {
	SEQUENCE_RESTARTED, /* the exporter started, by its uptime, after the last message */
	SEQUENCE_ANEW,      /* the number is low again, and there is no uptime */
	SEQUENCE_OFF,       /* the number is out of range, and there was no restart */
	SEQUENCE_DOUBTFUL,  /* the number fits, the uptime does not */
	SEQUENCE_FAR,       /* after a gap that may be a loss */
	SEQUENCE_NEAR,      /* late, or after a gap of less than a window */
	SEQUENCE_NEXT,      /* nothing is missing between the last one and this one */
	SEQUENCE_REPEATED,  /* received before: must not be counted again */
};

/* Effect of a message on the loss counters. */
struct sequence_result {
	uint32_t lost;       /* datagrams missing before it, rounded */
	uint32_t lost_units; /* missing units of the sequence */
	uint32_t recovered;  /* earlier losses that arrived late: 0 or 1 */
	uint32_t withdrawn;  /* earlier losses that did not happen */
	bool jumped;         /* numbers continue out of range: the loss is unknown */
	bool recognized;     /* the convention is now known */
};

void sequence_init(struct sequence *sequence, enum flow_protocol protocol);

/* Initializes the numbers of an exporter that restarted. The convention is kept. */
void sequence_init_like(struct sequence *sequence, const struct sequence *before);

/* Returns the relation of a message with this header. Changes nothing. */
enum sequence_fit sequence_fit(
	const struct sequence *sequence, const struct datagram_header *header);

/*
 * Returns true if a message with the same contents was counted, and removes it: each message has
 * one copy. For messages of one exporter to several collectors.
 */
bool sequence_take_copy(struct sequence *sequence, const struct datagram_header *header);

/* Call after decoding, but not for repeated messages. counted: its records were counted. */
struct sequence_result sequence_end(struct sequence *sequence, const struct datagram_header *header,
	const struct decode_result *result, bool counted);
