/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* From a record to an observation: its sampling, its bytes of layer 3, where it was seen. */

#include <stdbool.h>
#include <stdint.h>

#include "collect/exporters/exporter.h"
#include "collect/exporters/exporter_rule.h"
#include "collect/exporters/observation.h"
#include "collect/exporters/sampling.h"

/* Whose records they are; for those of one datagram. */
struct observation_point {
	uint32_t slot;
	uint32_t link_overhead;
	int64_t time;
	const struct exporter_rule *rule; /* NULL: none */
	struct sampling_knowledge sampling;
	const struct exporter_table *exporters;
	/* What next_hop was last, and who that is. */
	struct in6_addr next_hop;
	uint32_t next;
	/* The coarsest interval of its usable records, its source, and the place that has it; the
	 * finest. 0: there were no records. */
	uint32_t coarsest, finest;
	enum sampling_source source;
	uint64_t coarsest_place;
	/* Set by the caller: an interval that a place had before. */
	uint32_t known;
	uint64_t known_place;
	bool finer; /* a record of that place has a finer one */
	/* Of all records enum flow_has; of those that nothing says to be sampled whether there were
	 * any, and what there is to doubt. */
	uint32_t has;
	bool unsampled;
	enum sampling_certainty doubt;
	/* The verdict on the last record, and what it depended on. Cleared by observe_anew(). */
	bool decided;
	struct sampling_verdict verdict;
	struct sampling_basis basis;
};

/* Forgets the verdict on the last record. Call it when the exporter or its options change. */
static inline void observe_anew(struct observation_point *observer)
{
	observer->decided = false;
}

/* False: it brings no packets. */
bool observe(struct observation_point *observer, const struct flow_record *record,
	struct observation *observation);
