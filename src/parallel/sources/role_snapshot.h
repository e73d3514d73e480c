/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Roles of router interfaces at the end of the last closed epoch, merged over the workers. The
 * reporter writes them. The decoder reads them without waiting, to write the template file.
 */

#include <stdbool.h>
#include <stdint.h>

#include "collect/exporters/collector_rows.h"

struct role_snapshot;

/* `exporters`: number of exporter slots. Returns NULL if out of memory. */
struct role_snapshot *role_snapshot_create(uint32_t exporters);
void role_snapshot_destroy(struct role_snapshot *snapshot);

/* Adds a row of the template file. saved_at: ns since 1970-01-01 UTC. Only before the start. */
void role_snapshot_restore(
	struct role_snapshot *snapshot, const struct interface_role_row *row, int64_t saved_at);

/*
 * Takes ownership of rows[n], from malloc(). Sorts them, and merges rows of the same interface. If
 * their roles differ, the result is ROLE_OPEN. `epoch` ended at `now` (ns since 1970). Only for the
 * reporter.
 */
void role_snapshot_set(struct role_snapshot *snapshot, struct interface_role_row *rows, uint32_t n,
	uint64_t epoch, int64_t now);

/* Sorted by exporter, interface and side. Only for the reporter. */
const struct interface_role_row *role_snapshot_rows(
	const struct role_snapshot *snapshot, uint32_t *n);

/* Returns true if the template file must be written again. Any thread may call this. */
bool role_snapshot_changed(const struct role_snapshot *snapshot);

/*
 * In `epoch`, another exporter gets the slot, so its present roles are no longer saved. Only for
 * the decoder.
 */
void role_snapshot_forget(struct role_snapshot *snapshot, uint32_t exporter, uint64_t epoch);

/*
 * Calls emit() with each row for the template file, sorted by exporter. Returns false, without a
 * call, if the reporter is replacing the rows. Only for the decoder.
 */
bool role_snapshot_emit(struct role_snapshot *snapshot,
	void (*emit)(void *arg, const struct interface_role_row *row), void *arg);
