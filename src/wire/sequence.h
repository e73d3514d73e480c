/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What an exporter's sequence numbers say: lost, reordered and repeated datagrams, and restarts.
 * What they count differs, not only by protocol: the convention that an exporter keeps is
 * recognized from its first messages (docs/COLLECTOR.md).
 */

#include <stdbool.h>
#include <stdint.h>

#include "wire/wire.h"

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

struct sequence {
	enum wire_protocol protocol;
	enum sequence_convention convention;
	/* The implementation's: the message that is farthest on, and what was seen of others. */
	bool started;
	bool uncertain;             /* not all of its records could be counted */
	uint32_t number;            /* its sequence number */
	uint32_t data;              /* its data records */
	uint32_t flows;             /* of them, those that are none of options */
	uint32_t uptime;            /* ms; 0: not told */
	int64_t exported;           /* ns; 0: not told */
	uint32_t behind;            /* messages in succession that were too late to be late */
	uint32_t missing;           /* datagrams said lost that did not come yet */
	uint64_t messages, records; /* received, for lost records in datagrams */
	uint64_t lost, lost_units;  /* said, where records are counted */
	uint32_t recent[SEQUENCE_WINDOW];
	uint32_t nb_recent; /* ever; the ring's place is its remainder */
	uint32_t votes[SEQUENCE_CONVENTION_COUNT];
};

/* What a message adds to the account. */
struct sequence_news {
	uint32_t lost;       /* datagrams that should have come before it, nearest whole number */
	uint32_t lost_units; /* the same in what the sequence counts */
	uint32_t recovered;  /* of those said lost before, came late: 0 or 1 */
	bool repeated;       /* it came before: not to be counted again */
	bool restarted;      /* the exporter started anew: its templates are void */
	bool recognized;     /* the convention is known from now on */
};

void sequence_init(struct sequence *sequence, enum wire_protocol protocol);

/*
 * Called before a message is decoded, with its header: says whether it is to be decoded at all.
 * Losses are said by sequence_end(), when it is known how many records the message had.
 */
struct sequence_news sequence_begin(struct sequence *sequence, const struct wire_header *header);
struct sequence_news sequence_end(struct sequence *sequence, const struct wire_header *header,
	const struct wire_result *result);
