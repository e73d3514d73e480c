/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What an exporter's sequence numbers say: lost, reordered and repeated datagrams, and restarts.
 * What they count differs, not only by protocol: the convention that an exporter keeps is
 * recognized from its first messages (docs/COLLECTOR.md).
 */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/flow_protocol.h"

enum sequence_convention {
	SEQUENCE_UNSURE,        /* not recognized yet */
	SEQUENCE_MESSAGES,      /* v9, sFlow: messages before this one */
	SEQUENCE_RECORDS,       /* v5, IPFIX: data records before this message */
	SEQUENCE_FLOWS,         /* data records but those of options */
	SEQUENCE_FLOWS_AFTER,   /* the same, this message's included (softflowd) */
	SEQUENCE_RECORDS_AFTER, /* data records, this message's included */
	SEQUENCE_CONSTANT,      /* always the same: says nothing */
	SEQUENCE_CONVENTION_COUNT,
};

extern const char *const sequence_convention_words[SEQUENCE_CONVENTION_COUNT];

#define SEQUENCE_WINDOW 64 /* late messages that are recognized as late or repeated */

/* The message that the next one is compared with. */
struct sequence_base {
	uint32_t number;        /* its sequence number */
	uint32_t data;          /* its data records */
	uint32_t flows;         /* its data records without those of options */
	bool uncertain;         /* not all of its records could be counted */
	uint32_t uptime;        /* ms; 0: unknown */
	int64_t exported, came; /* ns; exported 0: unknown */
};

/* Parts of hashes of a received message. */
struct sequence_print {
	uint32_t whole;
	uint32_t body; /* without the header; 0: not counted, or a copy was received */
};

struct sequence {
	enum wire_protocol protocol;
	enum sequence_convention convention;
	/* The implementation's: the message that is farthest on, and what was seen of others. */
	bool started;
	struct sequence_base base;
	/* A message with a number out of range, or the base before the numbers jumped. */
	struct sequence_base aside;
	bool aside_proven;          /* it was a base */
	uint32_t nb_aside;          /* messages in succession that continue it; 0: unused */
	uint32_t aside_age;         /* messages since then that continued the base */
	uint32_t aside_lost;        /* datagrams reported as lost between it and the base */
	uint32_t missing;           /* datagrams said lost that did not come yet */
	int64_t first_came;         /* ns */
	uint64_t taken;             /* messages since first_came */
	uint64_t messages, records; /* received, for lost records in datagrams */
	uint64_t lost, lost_units;  /* said, where records are counted */
	struct sequence_print recent[SEQUENCE_WINDOW];
	uint32_t nb_recent; /* ever; the ring's place is its remainder */
	uint32_t votes[SEQUENCE_CONVENTION_COUNT];
};

/* Relation of a message to the messages before it, the worst first. */
enum sequence_fit {
	SEQUENCE_RESTARTED, /* by its uptime, the exporter started after the last message */
	SEQUENCE_ANEW,      /* the number is low again, and there is no uptime */
	SEQUENCE_OFF,       /* the number is out of range, and there was no restart */
	SEQUENCE_DOUBTFUL,  /* the number fits, the uptime does not */
	SEQUENCE_FAR,       /* after a gap that may be a loss */
	SEQUENCE_NEAR,      /* late, or after a gap of less than a window */
	SEQUENCE_NEXT,      /* nothing is missing between the last one and this one */
	SEQUENCE_REPEATED,  /* received before: must not be counted again */
};

/* What a message adds to the account. */
struct sequence_news {
	uint32_t lost;       /* datagrams that should have come before it, nearest whole number */
	uint32_t lost_units; /* the same in what the sequence counts */
	uint32_t recovered;  /* of those said lost before, came late: 0 or 1 */
	uint32_t withdrawn;  /* reported as lost before, and they were not */
	bool jumped;         /* numbers continue out of range: the loss is unknown */
	bool recognized;     /* the convention is known from now on */
};

void sequence_init(struct sequence *sequence, enum wire_protocol protocol);

/* Initializes the numbers of an exporter that restarted. The convention is kept. */
void sequence_init_like(struct sequence *sequence, const struct sequence *before);

/* Returns the relation of a message with this header. Changes nothing. */
enum sequence_fit sequence_fit(const struct sequence *sequence, const struct wire_header *header);

/*
 * Returns true if a message with the same contents was counted, and removes it: each message has
 * one copy. For messages of one exporter to several collectors.
 */
bool sequence_take_copy(struct sequence *sequence, const struct wire_header *header);

/* Call after decoding, but not for repeated messages. counted: its records were counted. */
struct sequence_news sequence_end(struct sequence *sequence, const struct wire_header *header,
	const struct wire_result *result, bool counted);
