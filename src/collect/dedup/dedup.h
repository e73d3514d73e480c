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

/* Returns the memory in bytes. */
size_t dedup_memory(const struct dedup_params *params);

/* Returns NULL if out of memory. */
struct dedup *dedup_create(const struct dedup_params *params);
void dedup_destroy(struct dedup *dedup);

/* Result of a burst, summed over the bursts of an epoch. */
struct dedup_counts {
	/* Upscaled packets of records, and those not counted before. */
	uint64_t received, measured;
	uint64_t bytes; /* bytes of measured packets */
	/*
	 * Largest sampling interval of counted packets: a bound of the variance per counted packet
	 * (docs/ESTIMATES.md). 1: unsampled. 0: nothing counted.
	 */
	double sampling;
	/*
	 * As in struct ledger: mean frame sizes of records. For records of several sampled packets,
	 * largest_frame is at least FRAME_EXPECTED.
	 */
	uint32_t smallest_frame, largest_frame;
	/*
	 * Records of unknown value: totals without a stored previous total, or records without a
	 * packet count.
	 */
	bool unknown;
	bool bytes_unknown; /* counted records have no byte count */
	/*
	 * Counted packets that may be duplicates; packets taken for duplicates that may be new
	 * (docs/ESTIMATES.md, "Each packet once").
	 */
	uint64_t duplicate_packets, duplicate_bytes, new_packets, new_bytes;
	uint32_t observers; /* reporting exporters; bounds counts per packet unless `late` */
	bool late;          /* some counted packets belong to an earlier interval */
};

/*
 * Fills the burst with 5-tuples, extras, times, TCP flags and weights of observations[n], n <=
 * BURST_MAX. Each has one entry, with 0 packets if it adds none or is deferred. Adds the results
 * per record to by_exporter[exporters].
 */
void dedup_burst(struct dedup *dedup, const struct observation *observations, uint32_t n,
	struct key_burst *burst, struct dedup_counts *counts, struct record_counts *by_exporter);

/*
 * Marks the exporter as alive; call for each datagram, also those without records. now: as
 * observation.time.
 */
void dedup_hear(struct dedup *dedup, uint32_t exporter, int64_t now);

/*
 * Learns the roles of interfaces, before the flows of an epoch are settled. last: no epoch follows.
 */
void dedup_learn(struct dedup *dedup, int64_t now, bool last, struct dedup_counts *counts);

/*
 * Restores a role (row->saved) that an earlier run saved at `saved_at`, ns since 1970-01-01 UTC.
 * Call before the first record. Ignored if older than an hour.
 */
void dedup_restore_role(
	struct dedup *dedup, const struct interface_role_row *row, int64_t saved_at);

/* Emits the roles of interfaces. Call after dedup_learn(). */
void dedup_emit_roles(const struct dedup *dedup,
	void (*emit)(void *arg, const struct interface_role_row *row), void *arg);

/*
 * Fills the burst with deferred flows of the epoch. Call until it returns 0, the number of entries.
 * Their records were counted when they arrived, as `counted` (first observer of the flow) or
 * `duplicate`; so `received` and `measured` are comparable only over all bursts of an epoch.
 */
uint32_t dedup_settle(struct dedup *dedup, struct key_burst *burst, struct dedup_counts *counts);

/*
 * Ends the epoch after dedup_settle(): emits the path of each flow reported in it, if enabled, and
 * removes flows that timed out. now: as observation.time.
 */
void dedup_end_epoch(struct dedup *dedup, int64_t now,
	void (*emit)(void *arg, const struct path_row *row), void *arg);

/* Prepares a slot for another exporter. Counted packets stay counted. */
void dedup_forget_exporter(struct dedup *dedup, uint32_t exporter);
