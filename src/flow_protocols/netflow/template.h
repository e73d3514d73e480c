/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Templates of one observation domain of an exporter. Each is compiled into a list of moves
 * (netflow/moves.h). A new definition replaces the old one with the same ID.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow_protocols/flow_protocol.h"

/* Limits all memory of the templates to `limit` bytes. Returns NULL if out of memory. */
struct templates *templates_create(size_t limit);
/* Changes the limit for new templates. Existing templates stay. */
void templates_set_limit(struct templates *templates, size_t limit);
void templates_destroy(struct templates *templates);

/* Removes all templates, for example after a restart of the exporter. */
void templates_forget(struct templates *templates);

uint32_t templates_count(const struct templates *templates);
size_t templates_bytes(const struct templates *templates);

/* Returns the number of changes so far. The caller saves the templates when it has grown. */
uint64_t templates_changes(const struct templates *templates);

/*
 * Passes each template to emit() as a NetFlow v9 or IPFIX set, including the set header.
 * templates_take() reads such a set from a file.
 */
void templates_each(const struct templates *templates,
	void (*emit)(void *arg, const uint8_t *set, uint32_t len), void *arg);

/*
 * Adds the templates of a set from templates_each(). Returns false if the set is invalid or memory
 * is full.
 */
bool templates_take(
	struct templates *templates, enum flow_protocol protocol, const uint8_t *set, uint32_t len);

bool templates_has(const struct templates *templates, uint16_t id);

/* Returns true if every definition in the body of a set equals the stored template with its ID. */
bool templates_agree(
	const struct templates *templates, uint16_t set_id, const uint8_t *data, uint32_t len);
