/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Data sets whose template is not known yet, with their messages' headers, in order. What they may
 * take is one pool; where it is full, the exporter that holds the most (within a factor of two)
 * gives up its oldest, so an exporter that holds little loses nothing to a flood. Proven exporters
 * (collect/exporters/exporter.h) and the others each have one half of the pool: only what one half
 * does not use is the other one's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow_protocols/flow_protocol.h"

struct waiting_set {
	struct datagram_header header;
	int64_t time; /* of its datagram */
	uint16_t template_id;
	bool proven; /* its exporter is */
	uint32_t len;
	const uint8_t *data;
};

struct waiting;

size_t waiting_memory(size_t bytes, uint32_t exporters);

/* NULL: there is no memory. With 0 bytes nothing waits. */
struct waiting *waiting_create(size_t bytes, uint32_t exporters);
void waiting_destroy(struct waiting *waiting);

/* Copies the set; gone() is called for each set that is given up for it, or is it itself. */
void waiting_put(struct waiting *waiting, uint32_t exporter, const struct waiting_set *set,
	void (*gone)(void *arg, uint32_t exporter), void *arg);

/*
 * Offers those of an exporter and template, the oldest first, as long as take() says true; such a
 * set is no longer there. The set is take()'s for the call. Nothing may be put in meanwhile. Takes
 * time for what is offered alone: what waits for other templates costs a datagram nothing.
 */
void waiting_offer(struct waiting *waiting, uint32_t exporter, uint16_t template_id,
	bool (*take)(void *arg, const struct waiting_set *set), void *arg);

uint32_t waiting_count(const struct waiting *waiting, uint32_t exporter);

/* Gives up those of an exporter that came before `time`; how many those were. */
uint32_t waiting_forget_old(struct waiting *waiting, uint32_t exporter, int64_t time);

/* Gives up all of an exporter; how many those were. */
uint32_t waiting_forget(struct waiting *waiting, uint32_t exporter);
