/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Deduplication: how many packets of a record no other observation point has reported before
 * (docs/COLLECTOR.md has methods and formulas). Not thread-safe.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/exporters/collector_rows.h"
#include "collect/exporters/observation.h"
#include "key/key_burst.h"
#include "sketch/sketch.h"

enum dedup_method {
	DEDUP_BEST,
	DEDUP_EXPORTER,
	DEDUP_WINDOW,
	DEDUP_EDGE,
	DEDUP_NONE,
	DEDUP_METHOD_COUNT,
};

/* Return the words of --dedup and their help; NULL after the last. */
const char *dedup_word(uint32_t method);
const char *dedup_suits(uint32_t method);

struct dedup_params {
	enum dedup_method method;
	uint64_t flows;     /* flows observed at the same time */
	uint32_t exporters; /* slots */
	uint64_t timeout;   /* ns; --active-timeout */
	bool paths;         /* paths of flows are needed */
	bool routes;        /* ingress and egress of flows are needed (--key routers) */
	bool edges;         /* edge interfaces of some exporter are known */
	uint64_t seed;
	struct sketch_allocator allocator;
};

/* Bytes of one for these parameters. */
size_t dedup_memory(const struct dedup_params *params);

/* NULL where the allocator has no memory. */
struct dedup *dedup_create(const struct dedup_params *params);
void dedup_destroy(struct dedup *dedup);

/* Result of a burst, summed over the bursts of an epoch. */
struct dedup_counts {
	/* Packets that records stand for, and those of them that counted; the others were counted
	 * before. */
	uint64_t received, measured;
	uint64_t bytes; /* bytes of measured packets */
	/*
	 * The coarsest sampling of what counted: each counted packet stands for as many with the
	 * variance of one in `sampling` (docs/ESTIMATES.md); 1: nothing was sampled. 0: nothing
	 * counted.
	 */
	double sampling;
	/*
	 * As struct ledger's: mean sizes of records. Where sampled packets share a record the
	 * largest is FRAME_EXPECTED at least.
	 */
	uint32_t smallest_frame, largest_frame;
	/* There were totals for whose last nothing had room: what they bring nobody knows. Or
	 * records without a count of packets. */
	bool unknown;
	bool bytes_unknown; /* records that counted have no count of bytes */
	/* Of counted packets, those that may be duplicates; and packets that were taken for
	 * duplicates and may be none (docs/ESTIMATES.md, "Each packet once"). */
	uint64_t duplicate_packets, duplicate_bytes, new_packets, new_bytes;
	uint32_t observers; /* exporters that report flows: no packet counted more often, */
	bool late;          /* unless some were reported in an earlier interval */
};

/*
 * Fills the burst with the 5-tuples, extras, times, TCP flags and weights of observations[n],
 * n <= BURST_MAX: an entry each, of 0 packets where it brings none, or none yet.
 * by_exporter[exporters] gets what became of the records.
 */
void dedup_burst(struct dedup *dedup, const struct observation *observations, uint32_t n,
	struct key_burst *burst, struct dedup_counts *counts, struct record_counts *by_exporter);

/* A datagram of the exporter came, if only with counters or templates. now: as observations' time. */
void dedup_hear(struct dedup *dedup, uint32_t exporter, int64_t now);

/*
 * Learns the roles of interfaces, before the flows of an epoch are settled. last: no epoch follows.
 */
void dedup_learn(struct dedup *dedup, int64_t now, bool last, struct dedup_counts *counts);

/*
 * What is left to be said before the epoch ends: fills the burst with flows that were held, of
 * which by now it is known what they bring, and returns how many those are; to be called until that
 * is 0.
 * Their records were received before, and became counted (those of a flow's first observer) or
 * duplicates when they came; so only `received` and `measured` of all bursts of an epoch compare.
 */
uint32_t dedup_settle(struct dedup *dedup, struct key_burst *burst, struct dedup_counts *counts);

/*
 * The epoch is over, and settled: emits the path of every flow that was reported in it, where they
 * are asked for, and gives up flows that were silent for longer than the timeout. now: as
 * observations' time.
 */
void dedup_end_epoch(struct dedup *dedup, int64_t now,
	void (*emit)(void *arg, const struct path_row *row), void *arg);

/* An exporter's slot is given to another: what it observed stays counted. */
void dedup_forget_exporter(struct dedup *dedup, uint32_t exporter);
