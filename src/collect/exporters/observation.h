/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A flow record in the form in which it is counted. The decoder (collect/collector.h) creates it. A
 * worker counts it (collect/dedup/dedup.h). If these are different threads, they pass it by value.
 */

#include <stdint.h>

#include "key/key.h"

enum observation_flags {
	OBSERVATION_TOTALS = 1 << 0, /* packets and bytes are totals since the start of the flow */
	OBSERVATION_SAMPLE = 1 << 1, /* packet sample (sFlow) */
	/* the input interface is an edge interface (--exporter ...,edge=LIST) */
	OBSERVATION_ENTERS = 1 << 2,
	OBSERVATION_EDGES = 1 << 3,  /* the edge interfaces of the exporter are known */
	OBSERVATION_LEAVES = 1 << 4, /* the output interface is an edge interface */
	/* reverse direction of a biflow: input and output are swapped */
	OBSERVATION_REVERSE = 1 << 5,
	/* Totals of a session. Earlier records have reported a part of them as differences. */
	OBSERVATION_SESSION = 1 << 6,
	OBSERVATION_ENDED = 1 << 7,           /* last record of a session */
	OBSERVATION_BYTES_UNKNOWN = 1 << 8,   /* `bytes` is a lower bound */
	OBSERVATION_PACKETS_UNKNOWN = 1 << 9, /* `packets` is a lower bound */
	OBSERVATION_FIRST = 1 << 10,          /* `first` is valid */
	OBSERVATION_LAST = 1 << 11,           /* `last` is valid */
	/* `first` is up to 1 s too large, `last` up to 1 s too small */
	OBSERVATION_CUT_TIMES = 1 << 12,
	OBSERVATION_AFTER_LOSS = 1 << 13, /* records of the exporter were lost before this one */
};

/* Packets and bytes count from the start of the flow or session, not from the previous record. */
#define OBSERVATION_SINCE_START (OBSERVATION_TOTALS | OBSERVATION_SESSION)

enum observation_side {
	OBSERVED_ANYWHERE, /* unknown */
	OBSERVED_INGRESS,
	OBSERVED_EGRESS,
};

#define EXPORTER_NONE    UINT32_MAX
/* Minimum time for which an exporter counts as alive after its last datagram. */
#define EXPORTER_LIFE_NS INT64_C(15000000000)

struct observation {
	/* 5-tuple; `family` selects the member. */
	union {
		struct key4 key4;
		struct key6 key6;
	};
	struct key_extra extra;
	uint16_t flags;          /* enum observation_flags */
	uint8_t side;            /* enum observation_side */
	uint8_t family;          /* enum key_family */
	uint32_t exporter;       /* slot of the domain */
	uint32_t input, output;  /* interface indexes; 0: unknown */
	uint32_t sampling;       /* sampling interval; 1: unsampled; never 0 */
	uint32_t next;           /* slot of the exporter at the next hop; EXPORTER_NONE: unknown */
	uint64_t packets, bytes; /* before upscaling by `sampling`; bytes include link-overhead */
	int64_t time;            /* arrival of the record, ns since 1970-01-01 UTC */
	/*
	 * Times of the first and last packet, in ms before `time`. Valid with OBSERVATION_FIRST and
	 * OBSERVATION_LAST.
	 */
	uint32_t first, last;
	uint8_t ttl;      /* largest TTL of its packets; 0: unknown */
	uint16_t segment; /* hash of the MAC addresses of a sampled frame; 0: unknown */
};

_Static_assert(sizeof(struct observation) == 128, "an observation fills two cache lines");
