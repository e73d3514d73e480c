/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Counts packets and bytes of each interface of an exporter (a link), from flow records and from
 * interface counters of sFlow. Records without an interface, and records beyond the table size, are
 * summed in one row without interface and direction. Each exporter has a guaranteed share of the
 * table and may borrow more.
 *
 * Two kinds of records report the output packets of an interface: its own egress records, and
 * ingress records of other interfaces that name it as output. The egress records have precedence.
 *
 * Interface counters are totals. The difference between two messages counts in the epoch of the
 * later one, with the time between them. After a restart or a changed interface index, neither
 * packets nor time are counted for the gap.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/exporters/collector_rows.h"
#include "collect/exporters/observation.h"
#include "flow_protocols/record.h"

struct links;

size_t links_memory(uint32_t exporters);

/* Returns NULL if out of memory. `seed` must be secret, because senders choose the hashed keys. */
struct links *links_create(uint32_t exporters, uint64_t seed);
void links_destroy(struct links *links);

/* Counts observations of one exporter. */
void links_count(struct links *links, const struct observation *observations, uint32_t n);
void links_counters(struct links *links, uint32_t exporter,
	const struct interface_counters *counters, int64_t time);
/* Stores the name of an interface from an options record. */
void links_learn(struct links *links, uint32_t exporter, const struct option_record *option);

/* Discards previous counter values of an exporter that restarted. */
void links_restart(struct links *links, uint32_t exporter);
void links_forget(struct links *links, uint32_t exporter);

/*
 * Emits a row for each active interface and direction, sorted by exporter, interface and direction.
 * The row without interface comes first. Then starts the next epoch. The caller fills in the slot
 * and names of the exporter.
 */
void links_end_epoch(struct links *links,
	void (*emit)(void *arg, uint32_t exporter, struct link_row *row), void *arg);
