/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Queues data sets whose template is unknown, in order of arrival. If the memory is full, the
 * exporter that uses the most (within a factor of two) loses its oldest set. Proven exporters
 * (exporter.h) and the others own half of the memory each, and may use the free part of the other
 * half.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow_protocols/flow_protocol.h"

struct waiting_set {
	struct datagram_header header;
	int64_t time; /* arrival of the datagram, ns since 1970-01-01 UTC */
	uint16_t template_id;
	bool proven;
	uint32_t len;
	const uint8_t *data;
};

struct waiting;

size_t waiting_memory(size_t bytes, uint32_t exporters);

/* Returns NULL if out of memory. bytes 0: all sets are dropped. */
struct waiting *waiting_create(size_t bytes, uint32_t exporters, uint64_t seed);
void waiting_destroy(struct waiting *waiting);

/* Copies the set. Calls gone() for each set that is dropped to make room, which may be this one. */
void waiting_put(struct waiting *waiting, uint32_t exporter, const struct waiting_set *set,
	void (*gone)(void *arg, uint32_t exporter), void *arg);

/*
 * Offers the sets, oldest first. take() returns true to remove a set, false to stop. It must not
 * call waiting_put().
 */
void waiting_offer(struct waiting *waiting, uint32_t exporter, uint16_t template_id,
	bool (*take)(void *arg, const struct waiting_set *set), void *arg);

uint32_t waiting_count(const struct waiting *waiting, uint32_t exporter);

/* Drops the exporter's sets from before `time`. Returns their number. */
uint32_t waiting_forget_old(struct waiting *waiting, uint32_t exporter, int64_t time);

/* Drops all sets of an exporter. Returns their number. */
uint32_t waiting_forget(struct waiting *waiting, uint32_t exporter);
