/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Checks the sequence numbers of an exporter. Detects lost, reordered and repeated messages, and
 * restarts. Exporters count different units (enum sequence_convention), even with the same
 * protocol. The first messages show the unit (docs/COLLECTOR.md).
 */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/flow_protocol.h"

extern const char *const sequence_convention_words[SEQUENCE_CONVENTION_COUNT];

/* number of messages within which late and repeated ones are recognized */
#define SEQUENCE_WINDOW 64

/* Message with which later messages are compared. */
struct sequence_base {
	uint32_t number;        /* sequence number */
	uint32_t data;          /* data records */
	uint32_t flows;         /* data records, except options records */
	bool uncertain;         /* some of its records could not be counted */
	uint32_t uptime;        /* ms; 0: unknown */
	int64_t exported, came; /* ns since 1970-01-01 UTC; exported is 0 if unknown */
};

/* Hashes of a received message. */
struct sequence_print {
	uint32_t whole;
	/* hash without the header; 0: the message was not counted, or its copy has arrived */
	uint32_t body;
};

struct sequence {
	enum flow_protocol protocol;
	enum sequence_convention convention;
	/* The following fields are private. `base` is the message that is furthest ahead. */
	bool started;
	struct sequence_base base;
	/* A second base: a message with a number out of range, or the `base` before a jump. */
	struct sequence_base aside;
	bool aside_proven; /* `aside` was once `base` */
	/* successive messages that continue `aside`; 0: `aside` is unused */
	uint32_t nb_aside;
	uint32_t aside_age;  /* messages that continued `base` since `aside` was set */
	uint32_t aside_lost; /* datagrams reported as lost between `aside` and `base` */
	uint32_t missing;    /* datagrams that were reported as lost and have not arrived */
	int64_t first_came;  /* ns */
	uint64_t taken;      /* messages received since first_came */
	/*
	 * messages with data records, and their records; the ratio converts lost records to
	 * datagrams
	 */
	uint64_t messages, records;
	/* datagrams and units reported as lost, if the numbers count records */
	uint64_t lost, lost_units;
	struct sequence_print recent[SEQUENCE_WINDOW];
	/* messages stored; modulo SEQUENCE_WINDOW, it is the next index in recent[] */
	uint32_t nb_recent;
	uint32_t votes[SEQUENCE_CONVENTION_COUNT];
};

/* Relation of a message to the messages before it. Smaller values fit worse. */
enum sequence_fit {
	/* its uptime shows that the exporter restarted after the last message */
	SEQUENCE_RESTARTED,
	SEQUENCE_ANEW,     /* the number restarted near 0, and the messages have no uptime */
	SEQUENCE_OFF,      /* the number is out of range, but the exporter did not restart */
	SEQUENCE_DOUBTFUL, /* the number fits, but the uptime does not */
	SEQUENCE_FAR,      /* after a gap larger than the window: a loss or a forged number */
	SEQUENCE_NEAR,     /* late, or after a gap smaller than the window */
	SEQUENCE_NEXT,     /* nothing is missing between the last message and this one */
	SEQUENCE_REPEATED, /* received before; its records must not be counted again */
};

/* Effect of a message on the loss counters. */
struct sequence_result {
	uint32_t lost;       /* datagrams that are missing before this message, rounded */
	uint32_t lost_units; /* units that are missing before this message */
	uint32_t recovered;  /* 1: this message was reported as lost, but arrived late; else 0 */
	uint32_t withdrawn;  /* datagrams that were reported as lost by mistake */
	bool jumped;         /* the numbers continue at a value out of range; the loss is unknown */
	bool recognized;     /* the convention is newly known or has changed */
};

void sequence_init(struct sequence *sequence, enum flow_protocol protocol);

/* Initializes the state of an exporter that restarted. Keeps the convention of `before`. */
void sequence_init_like(struct sequence *sequence, const struct sequence *before);

/* Returns the relation of a message with this header. Changes nothing. */
enum sequence_fit sequence_fit(
	const struct sequence *sequence, const struct datagram_header *header);

/*
 * Returns true if this message is a copy of a message that was counted. Each counted message has
 * one copy: a second copy returns false. Exporters that send each message to several collectors
 * make such copies.
 */
bool sequence_take_copy(struct sequence *sequence, const struct datagram_header *header);

/*
 * Updates the state with a message that was decoded and is not SEQUENCE_REPEATED. `counted`: its
 * records were counted.
 */
struct sequence_result sequence_end(struct sequence *sequence, const struct datagram_header *header,
	const struct decode_result *result, bool counted);
