/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Detects lost, late and repeated messages by sequence numbers (docs/COLLECTOR.md). */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/flow_protocol.h"

extern const char *const sequence_convention_words[SEQUENCE_CONVENTION_COUNT];

/* messages among which late and repeated ones are recognized */
#define SEQUENCE_WINDOW 64

struct sequence_base {
	uint32_t number;
	uint32_t data;
	uint32_t flows;         /* without options records */
	bool uncertain;         /* some of its records could not be counted */
	uint32_t uptime;        /* ms; 0: unknown */
	int64_t exported, came; /* ns since 1970-01-01 UTC; exported 0: unknown */
};

struct sequence_print {
	uint32_t whole;
	/* hash without the header; 0: the message was not counted, or its copy has arrived */
	uint32_t body;
};

struct sequence {
	enum flow_protocol protocol;
	enum sequence_convention convention;
	/* All members are private. `base` is the message that is furthest ahead. */
	bool started;
	struct sequence_base base;
	/* a message with a number out of range, or the `base` before a jump */
	struct sequence_base aside;
	bool aside_proven; /* `aside` was once `base` */
	/* successive messages that continue `aside`; 0: `aside` is unused */
	uint32_t nb_aside;
	uint32_t aside_age;  /* messages that continued `base` since `aside` was set */
	uint32_t aside_lost; /* datagrams counted as lost between `aside` and `base` */
	uint32_t missing;    /* datagrams counted as lost that have not arrived */
	int64_t first_came;  /* ns */
	uint64_t taken;      /* messages since first_came */
	/* messages with data records, and these records */
	uint64_t messages, records;
	/* datagrams and units counted as lost, if numbers count records */
	uint64_t lost, lost_units;
	struct sequence_print recent[SEQUENCE_WINDOW];
	/* modulo SEQUENCE_WINDOW: next index in recent[] */
	uint32_t nb_recent;
	uint32_t votes[SEQUENCE_CONVENTION_COUNT];
	/* conventions with all votes, as bits, if the others have none; 0: other votes */
	uint32_t settled;
};

enum sequence_fit {
	/* the uptime shows a restart */
	SEQUENCE_RESTARTED,
	SEQUENCE_ANEW,
	SEQUENCE_OFF,      /* the number is out of range, but the exporter did not restart */
	SEQUENCE_DOUBTFUL, /* the number fits, but the uptime does not */
	SEQUENCE_FAR,      /* after a gap larger than the window: a loss or a forged number */
	SEQUENCE_NEAR,     /* late, or after a gap smaller than the window */
	SEQUENCE_NEXT,
	SEQUENCE_REPEATED, /* received before; do not count its records again */
};

struct sequence_result {
	uint32_t lost; /* datagrams missing before this message, rounded */
	uint32_t lost_units;
	uint32_t recovered; /* 1: this message was counted as lost, but is only late; else 0 */
	uint32_t withdrawn; /* datagrams counted as lost by mistake */
	bool jumped;        /* the numbers continue out of range; the loss is unknown */
	bool recognized;
	/*
	 * It is unknown whether messages are missing before this one: the unit of the numbers is
	 * unsure, or this is the first message heard of an exporter that started recently.
	 */
	bool maybe_lost;
};

void sequence_init(struct sequence *sequence, enum flow_protocol protocol);

/* Initializes the state after a restart, with the convention of `before`. */
void sequence_init_like(struct sequence *sequence, const struct sequence *before);

enum sequence_fit sequence_fit(
	const struct sequence *sequence, const struct datagram_header *header);

/* Returns true for the first copy of a counted message. Exporters may send copies. */
bool sequence_take_copy(struct sequence *sequence, const struct datagram_header *header);

/* The message is not SEQUENCE_REPEATED. `counted`: its records were counted. */
struct sequence_result sequence_end(struct sequence *sequence, const struct datagram_header *header,
	const struct decode_result *result, bool counted);
