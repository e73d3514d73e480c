/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Converts a record to an observation: adds sampling interval, layer 3 bytes, interfaces and next
 * hop.
 */

#include <stdbool.h>
#include <stdint.h>

#include "collect/exporters/exporter.h"
#include "collect/exporters/exporter_rule.h"
#include "collect/exporters/observation.h"
#include "collect/exporters/sampling.h"

/* Properties that the records of one datagram share, and results of their conversion. */
struct observation_point {
	uint32_t slot;
	uint32_t link_overhead;
	int64_t time;
	const struct exporter_rule *rule; /* matching --exporter; NULL: none */
	struct sampling_knowledge sampling;
	struct random *random; /* for records that are scaled by their exporter */
	const struct exporter_table *exporters;
	/* Cache: last next hop as in struct flow_record, and the slot of its exporter. */
	uint8_t next_hop[16];
	bool next_hop_ipv6, next_known;
	uint32_t next;
	/*
	 * Largest and smallest sampling interval of the usable records; 0: no records. The largest
	 * also has its source and its place: a number for interface, template and sampler of the
	 * record.
	 */
	uint32_t coarsest, finest;
	enum sampling_source source;
	uint64_t coarsest_place;
	/* Interval that was known before this datagram, and its place. Set by the caller. */
	uint32_t known;
	uint64_t known_place;
	bool finer;      /* a record of known_place has a smaller interval than `known` */
	bool after_loss; /* records of the exporter were lost before this datagram. Set by the caller */
	/*
	 * has: bits of enum flow_has of all records. unsampled: the sampling of a record is
	 * unknown. certainty: the last value other than SAMPLING_SURE of a record.
	 */
	uint32_t has;
	bool unsampled;
	enum sampling_certainty certainty;
	/*
	 * Cache: sampling verdict of the last record, and the fields that determine it. Cleared by
	 * observe_anew().
	 */
	bool decided;
	struct sampling_verdict verdict;
	struct sampling_basis basis;
};

/* Clears the cached verdict. Call if the exporter or its options change. */
static inline void observe_anew(struct observation_point *point)
{
	point->decided = false;
}

/* Converts a record. Returns false if it has no packets and no bytes. */
bool observe(struct observation_point *point, const struct flow_record *record,
	struct observation *observation);
