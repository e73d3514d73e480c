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

/* Source of the records of one datagram. */
struct observation_point {
	uint32_t slot;
	uint32_t link_overhead;
	int64_t time;
	const struct exporter_rule *rule; /* matching --exporter; NULL: none */
	struct sampling_knowledge sampling;
	const struct exporter_table *exporters;
	/* Cache: last next hop, and the slot of its exporter. */
	struct in6_addr next_hop;
	uint32_t next;
	/*
	 * Largest and smallest sampling interval of the usable records; 0: no records. For the
	 * largest also its source, and its place: a number for interface, template and sampler of
	 * the record.
	 */
	uint32_t coarsest, finest;
	enum sampling_source source;
	uint64_t coarsest_place;
	/* Earlier interval of a place. Set by the caller. */
	uint32_t known;
	uint64_t known_place;
	bool finer;      /* a record of that place has a smaller interval */
	bool after_loss; /* records of the exporter were lost before this datagram. Set by the caller */
	/*
	 * enum flow_has of all records; a record without known sampling was seen; its uncertainty.
	 */
	uint32_t has;
	bool unsampled;
	enum sampling_certainty doubt;
	/*
	 * Cache: sampling verdict of the last record, and its input fields. Cleared by
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

/* Returns false if the record adds no packets. */
bool observe(struct observation_point *point, const struct flow_record *record,
	struct observation *observation);
