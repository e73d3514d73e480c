/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Roles of router interfaces at the end of the last closed epoch, merged over the workers. The
 * reporter writes the roles. The decoder reads them to write the template file, and never waits for
 * the reporter.
 */

#include <stdbool.h>
#include <stdint.h>

#include "collect/exporters/collector_rows.h"

struct role_snapshot;

/* `exporters` is the number of exporter slots. Returns NULL if out of memory. */
struct role_snapshot *role_snapshot_create(uint32_t exporters);
void role_snapshot_destroy(struct role_snapshot *snapshot);

/* Adds a row of the template file. saved_at: ns since 1970-01-01 UTC. Call before start. */
void role_snapshot_restore(
	struct role_snapshot *snapshot, const struct interface_role_row *row, int64_t saved_at);

/*
 * Replaces the rows by those of a closed epoch. It ended at `now`, in ns since 1970-01-01 UTC.
 * Takes ownership of rows[n], which must be from malloc(). Sorts the rows, and merges rows of the
 * same interface. If workers have learned different roles, the role is ROLE_OPEN. Called by the
 * reporter.
 */
void role_snapshot_set(struct role_snapshot *snapshot, struct interface_role_row *rows, uint32_t n,
	uint64_t epoch, int64_t now);

/* Returns the rows, sorted by exporter, interface and side. Called by the reporter. */
const struct interface_role_row *role_snapshot_rows(
	const struct role_snapshot *snapshot, uint32_t *n);

/* Returns true if the rows must be written to the template file again. Any thread. */
bool role_snapshot_changed(const struct role_snapshot *snapshot);

/*
 * Excludes the present roles of a slot from the template file, because another exporter gets the
 * slot in `epoch`. Called by the decoder.
 */
void role_snapshot_forget(struct role_snapshot *snapshot, uint32_t exporter, uint64_t epoch);

/*
 * Calls emit() with each row for the template file, sorted by exporter. Returns false, without a
 * call, if the reporter is replacing the rows. Called by the decoder.
 */
bool role_snapshot_emit(struct role_snapshot *snapshot,
	void (*emit)(void *arg, const struct interface_role_row *row), void *arg);
