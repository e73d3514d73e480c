/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Roles of interfaces as of the last closed epoch, merged over the workers. The reporter writes
 * them; the decoder reads them for the template file, and never waits for the reporter.
 */

#include <stdbool.h>
#include <stdint.h>

#include "collect/exporters/collector_rows.h"

struct role_snapshot;

/* Returns NULL if out of memory. exporters: number of slots. */
struct role_snapshot *role_snapshot_create(uint32_t exporters);
void role_snapshot_destroy(struct role_snapshot *snapshot);

/* Adds a row, before the threads start. */
void role_snapshot_restore(
	struct role_snapshot *snapshot, const struct interface_role_row *row, int64_t saved_at);

/*
 * Replaces the rows by those of a closed epoch, which ended at `now`, ns since 1970-01-01 UTC.
 * Takes ownership of rows[n] (malloc), sorts them and merges rows of the same interface: workers
 * that learned different roles make it ROLE_OPEN. Called by the reporter.
 */
void role_snapshot_set(struct role_snapshot *snapshot, struct interface_role_row *rows, uint32_t n,
	uint64_t epoch, int64_t now);

/* Returns the rows, sorted by exporter, interface and side. Called by the reporter. */
const struct interface_role_row *role_snapshot_rows(
	const struct role_snapshot *snapshot, uint32_t *n);

/* Returns true if rows changed since role_snapshot_emit(), or should be saved again. Any thread. */
bool role_snapshot_changed(const struct role_snapshot *snapshot);

/* Notes that the slot is another exporter's from this epoch on. Called by the decoder. */
void role_snapshot_forget(struct role_snapshot *snapshot, uint32_t exporter, uint64_t epoch);

/*
 * Emits the rows to save, by exporter. Returns false if the reporter is replacing them. Called by
 * the decoder.
 */
bool role_snapshot_emit(struct role_snapshot *snapshot,
	void (*emit)(void *arg, const struct interface_role_row *row), void *arg);
