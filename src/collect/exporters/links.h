/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What passed an exporter's interfaces, by its records and by the interfaces' own counters (sFlow).
 * Records that name no interface, or only ones for which there is no room, are one row without
 * interface and direction. Each exporter has its share of all links, and may borrow more.
 *
 * A packet leaves by an interface's records at egress and by others' records at ingress that name
 * it as their output; of the two, those that the interface made itself count, where there are any.
 *
 * Counters are differenced between two of an interface's messages: a count belongs to the epoch of
 * the later one, with the time between them. What a restart or an index that moved leaves between
 * two counters is not known, and counted neither in packets nor in time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/exporters/collector_rows.h"
#include "collect/exporters/observation.h"
#include "flow_protocols/record.h"

struct links;

size_t links_memory(uint32_t exporters);

/* seed: a secret, because senders choose what is looked up. NULL: there is no memory. */
struct links *links_create(uint32_t exporters, uint64_t seed);
void links_destroy(struct links *links);

/* Observations of one exporter. */
void links_count(struct links *links, const struct observation *observations, uint32_t n);
void links_counters(struct links *links, uint32_t exporter,
	const struct interface_counters *counters, int64_t time);
/* Its name or speed, where the option says it of an interface. */
void links_learn(struct links *links, uint32_t exporter, const struct option_record *option);

/* The exporter restarted: its counters start anew. */
void links_restart(struct links *links, uint32_t exporter);
void links_forget(struct links *links, uint32_t exporter);

/*
 * Emits a row for each interface and direction with something in it, by exporter, interface and
 * direction, that without an interface first, and starts the next epoch; `address`, `domain` and `exporter` are the caller's to fill.
 */
void links_end_epoch(struct links *links,
	void (*emit)(void *arg, uint32_t exporter, struct link_row *row), void *arg);
