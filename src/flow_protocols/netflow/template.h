/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Templates of one observation domain. Each is compiled into moves (netflow/moves.h). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow_protocols/flow_protocol.h"

/* `limit`: memory in bytes. Returns NULL if out of memory. */
struct templates *templates_create(size_t limit);
void templates_set_limit(struct templates *templates, size_t limit);
void templates_destroy(struct templates *templates);

void templates_forget(struct templates *templates);

uint32_t templates_count(const struct templates *templates);
size_t templates_bytes(const struct templates *templates);

/* Returns the number of changes so far. */
uint64_t templates_changes(const struct templates *templates);

/* Passes each template to emit() as a set with its header, which templates_take() reads. */
void templates_each(const struct templates *templates,
	void (*emit)(void *arg, const uint8_t *set, uint32_t len), void *arg);

/* Returns false if the set is invalid or memory is full. */
bool templates_take(
	struct templates *templates, enum flow_protocol protocol, const uint8_t *set, uint32_t len);

bool templates_has(const struct templates *templates, uint16_t id);

/* Returns true if all definitions in the body of the set equal the stored ones. */
bool templates_agree(
	const struct templates *templates, uint16_t set_id, const uint8_t *data, uint32_t len);
