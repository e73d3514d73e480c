/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* A record in progress, and its value: the packets that it adds. */

#include <stdbool.h>
#include <stdint.h>

#include "collect/dedup/observed_flows.h"
#include "collect/exporters/observation.h"

/* A record: packets and bytes are upscaled, and totals are converted to differences. */
struct record_in_progress {
	const struct observation *observation;
	struct flow *flow; /* NULL: the method has no flow table */
	struct share *share;
	uint32_t number;      /* index of the share */
	uint32_t now;         /* time of arrival, ticks */
	bool moved;           /* the observer saw the flow at other interfaces before */
	bool bytes_cut;       /* bytes exceeded the limit of a share */
	bool held;            /* deferred: valued at the end of the epoch */
	bool sampled;         /* method `window`: also sFlow at 1:1 */
	bool is_new;          /* first report of the flow by this observer */
	bool joins;           /* is_new, or the observer returned after others overtook it */
	bool later;           /* all its packets are later than all reported ones */
	bool unsure;          /* the observer did not see the flow's first packets */
	bool aligned;         /* the position of its start is derived from its time only */
	bool has_first;       /* `first` is valid */
	uint32_t first, last; /* times of its first and last packet, ticks */
	uint32_t before;      /* time of the last packet of the observer's previous record, ticks */
	uint64_t begin;       /* unsampled: packets of the flow before its start */
	uint64_t packets, bytes;
	uint64_t route; /* key of its route; 0: not looked up yet */
};

static inline uint32_t ticks_of(int64_t time)
{
	return (uint32_t)((uint64_t)time >> TICK_SHIFT);
}

/* Sets `first` and `last`; the time of arrival if the record has no times. */
static inline void record_times(struct record_in_progress *record)
{
	const struct observation *observation = record->observation;
	const int64_t ms = 1000000;

	record->first = ticks_of(observation->time - (int64_t)observation->first * ms);
	record->last = ticks_of(observation->time - (int64_t)observation->last * ms);
}

/* Bytes of the smallest packet: an IPv4 header. */
#define PACKET_LEAST 20

/* Returns the most bytes that a part of the record's packets can have. */
static inline uint64_t most_part_bytes(const struct record_in_progress *record, uint64_t packets)
{
	uint64_t others = (record->packets - packets) * PACKET_LEAST;

	return record->bytes > others ? record->bytes - others : 0;
}

/*
 * Largest expected frame if sizes are unknown: 1500 bytes and an Ethernet header. Records of
 * several sampled packets have only the mean size; any packet may be larger.
 */
#define FRAME_EXPECTED 1514

static inline bool frame_sizes_unknown(const struct observation *observation)
{
	return observation->sampling > 1 && observation->packets > 1;
}

/* Packets and bytes that a record adds; packets: at most those of the record. */
struct record_value {
	uint64_t packets, bytes;
	double sampling; /* see struct dedup_counts */
};

/* Returns true if the part of the record may have these bytes. */
static inline bool is_plausible(
	const struct record_in_progress *record, const struct record_value *value)
{
	if (value->packets >= record->packets)
		return value->bytes == record->bytes;
	return value->bytes >= value->packets * PACKET_LEAST &&
	       value->bytes <= most_part_bytes(record, value->packets);
}
