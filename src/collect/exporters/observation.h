/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A record as those who count it see it: which exporter saw how much of which flow. Made by the
 * decoder (collect/collector.h), counted by a worker (collect/dedup/dedup.h); copied from one to
 * the other where they are two.
 */

#include <stdint.h>

#include "key/key.h"

enum observation_flags {
	OBSERVATION_TOTALS = 1 << 0, /* packets and bytes count from the flow's beginning */
	OBSERVATION_SAMPLE = 1 << 1, /* a sampled packet (sFlow) */
	OBSERVATION_ENTERS = 1 << 2, /* came in by an interface that is an edge */
	OBSERVATION_EDGES = 1 << 3,  /* the exporter's edge is known */
	OBSERVATION_LEAVES = 1 << 4, /* goes out by an edge */
	OBSERVATION_REVERSE =
		1 << 5, /* the second half of a biflow: input and output are swapped */
	/* Totals of which earlier records of the session told a part, not as totals. */
	OBSERVATION_SESSION = 1 << 6,
	OBSERVATION_ENDED = 1 << 7,           /* the last record of a session */
	OBSERVATION_BYTES_UNKNOWN = 1 << 8,   /* `bytes` is what they are at least */
	OBSERVATION_PACKETS_UNKNOWN = 1 << 9, /* `packets` is what they are at least */
	OBSERVATION_FIRST = 1 << 10,          /* `first` is known */
	OBSERVATION_LAST = 1 << 11,           /* `last` is known */
	OBSERVATION_CUT_TIMES = 1 << 12,      /* `first` is up to 1 s too large, `last` too small */
};

/* Counts are not those since the last record. */
#define OBSERVATION_SINCE_START (OBSERVATION_TOTALS | OBSERVATION_SESSION)

enum observation_side {
	OBSERVED_ANYWHERE, /* the exporter does not say where */
	OBSERVED_INGRESS,
	OBSERVED_EGRESS,
};

#define EXPORTER_NONE UINT32_MAX

struct observation {
	/* The 5-tuple, as `family` says. */
	union {
		struct key4 key4;
		struct key6 key6;
	};
	struct key_extra extra;
	uint16_t flags;         /* enum observation_flags */
	uint8_t side;           /* enum observation_side */
	uint8_t family;         /* enum key_family */
	uint32_t exporter;      /* the domain's slot among the collector's exporters */
	uint32_t input, output; /* interfaces; 0: not known */
	uint32_t sampling;      /* one of so many packets was looked at; 1: all, never 0 */
	uint32_t next; /* the slot of the exporter at the next hop; EXPORTER_NONE: unknown */
	uint64_t packets, bytes; /* as told, before they are multiplied by `sampling`; bytes with
				    link-overhead */
	int64_t time;            /* when the record came: ns since 1970-01-01 UTC */
	/* ms before `time`, of the first and the last packet; where `flags` say so. */
	uint32_t first, last;
	uint8_t ttl; /* the largest of its packets; 0: unknown */
};

_Static_assert(sizeof(struct observation) == 128, "two cache lines");
