/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Counts packets and bytes of each interface of an exporter (a link). Egress records of an
 * interface have precedence over ingress records of other interfaces that name it as output.
 * Interface counters are totals: the difference between two messages counts in the epoch of the
 * later one, with the time between them. After a restart, the gap is not counted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/exporters/collector_rows.h"
#include "collect/exporters/observation.h"
#include "flow_protocols/record.h"

struct links;

size_t links_memory(uint32_t exporters);

/* `seed` is secret, because senders choose the hashed keys. Returns NULL if out of memory. */
struct links *links_create(uint32_t exporters, uint64_t seed);
void links_destroy(struct links *links);

void links_count(struct links *links, const struct observation *observations, uint32_t n);
void links_counters(struct links *links, uint32_t exporter,
	const struct interface_counters *counters, int64_t time);
void links_learn(struct links *links, uint32_t exporter, const struct option_record *option);

void links_restart(struct links *links, uint32_t exporter);
void links_forget(struct links *links, uint32_t exporter);

/*
 * Emits a row for each active interface and direction, sorted by exporter, interface and direction,
 * and starts the next epoch. The caller fills in slot and names of the exporter.
 */
void links_end_epoch(struct links *links,
	void (*emit)(void *arg, uint32_t exporter, struct link_row *row), void *arg);
