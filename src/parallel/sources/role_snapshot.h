/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Roles of router interfaces at the end of the last closed epoch. The reporter writes them. The
 * decoder reads them without waiting, to write the template file.
 */

#include <stdbool.h>
#include <stdint.h>

#include "collect/exporters/collector_rows.h"

struct role_snapshot;

struct role_snapshot *role_snapshot_create(uint32_t exporters);
void role_snapshot_destroy(struct role_snapshot *snapshot);

/* Must be called before the start. saved_at: ns since 1970. */
void role_snapshot_restore(
	struct role_snapshot *snapshot, const struct interface_role_row *row, int64_t saved_at);

/*
 * Only the reporter calls this. Takes ownership of rows[n], from malloc(). If roles of one
 * interface differ, the result is ROLE_OPEN. `epoch` ended at `now` (ns since 1970).
 */
void role_snapshot_set(struct role_snapshot *snapshot, struct interface_role_row *rows, uint32_t n,
	uint64_t epoch, int64_t now);

/* Only the reporter calls this. Rows are sorted by exporter, interface and side. */
const struct interface_role_row *role_snapshot_rows(
	const struct role_snapshot *snapshot, uint32_t *n);

/* Returns true if the template file must be written again. Any thread may call this. */
bool role_snapshot_changed(const struct role_snapshot *snapshot);

/* Only the decoder calls this. Roles that were learned before `epoch` are no longer saved. */
void role_snapshot_forget(struct role_snapshot *snapshot, uint32_t exporter, uint64_t epoch);

/*
 * Only the decoder calls this. Returns false, without emit(), if the reporter is replacing the
 * rows.
 */
bool role_snapshot_emit(struct role_snapshot *snapshot,
	void (*emit)(void *arg, const struct interface_role_row *row), void *arg);
