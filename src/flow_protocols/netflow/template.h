/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The templates of one domain of an exporter, each compiled into a list of moves from a record's
 * bytes to a struct flow_record. A definition replaces the one before it; one that is the same
 * changes nothing.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow_protocols/flow_protocol.h"

/* At most `limit` bytes, all included. NULL: there is no memory. */
struct templates *templates_create(size_t limit);
/* From now on; what is there stays. */
void templates_set_limit(struct templates *templates, size_t limit);
void templates_destroy(struct templates *templates);

/* Forgets them all, as when the exporter restarted. */
void templates_forget(struct templates *templates);

uint32_t templates_count(const struct templates *templates);
size_t templates_bytes(const struct templates *templates);

/* Since the templates were made: changes, so that who saves them knows when. */
uint64_t templates_changes(const struct templates *templates);

/*
 * Every template as the bytes of its definition: a set of v9 or IPFIX, with the set's header, that
 * wire_decode() would take behind a message header; for files.
 */
void templates_each(const struct templates *templates,
	void (*emit)(void *arg, const uint8_t *set, uint32_t len), void *arg);

/* Takes such a set in again. False where it is none, or has no room. */
bool templates_take(
	struct templates *templates, enum wire_protocol protocol, const uint8_t *set, uint32_t len);

bool templates_has(const struct templates *templates, uint16_t id);

/* Returns true if every definition of a set (its body) is known and the same. */
bool templates_agree(
	const struct templates *templates, uint16_t set_id, const uint8_t *data, uint32_t len);
