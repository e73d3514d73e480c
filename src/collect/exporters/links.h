/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Counts packets and bytes per interface of an exporter, from its records and from interface
 * counters (sFlow). Records without an interface, or beyond the table size, are summed in a row
 * without interface and direction. Each exporter has a guaranteed share of the table and may borrow
 * more.
 *
 * Output packets of an interface are in its own egress records, and in ingress records of other
 * interfaces that name it as output. The egress records have precedence.
 *
 * Counters are differenced between two messages of an interface. The difference counts in the epoch
 * of the later one, with the time between them. After a restart or a changed interface index,
 * neither packets nor time are counted for the gap.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/exporters/collector_rows.h"
#include "collect/exporters/observation.h"
#include "flow_protocols/record.h"

struct links;

size_t links_memory(uint32_t exporters);

/* Returns NULL if out of memory. seed: secret; senders choose the keys. */
struct links *links_create(uint32_t exporters, uint64_t seed);
void links_destroy(struct links *links);

/* Counts observations of one exporter. */
void links_count(struct links *links, const struct observation *observations, uint32_t n);
void links_counters(struct links *links, uint32_t exporter,
	const struct interface_counters *counters, int64_t time);
/* Stores name or speed of an interface from an option record. */
void links_learn(struct links *links, uint32_t exporter, const struct option_record *option);

/* Discards previous counter values of an exporter that restarted. */
void links_restart(struct links *links, uint32_t exporter);
void links_forget(struct links *links, uint32_t exporter);

/*
 * Emits a row for each active interface and direction, by exporter, interface and direction, the
 * row without interface first. Then starts the next epoch. The caller fills `address`, `domain` and
 * `exporter`.
 */
void links_end_epoch(struct links *links,
	void (*emit)(void *arg, uint32_t exporter, struct link_row *row), void *arg);
