/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/sources/role_snapshot.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/units.h"
#include "collect/exporters/observation.h"

/* Less than the hour after which saved roles expire (collect/dedup/interface_roles.h). */
#define SAVE_AGAIN_NS (600 * SECOND_NS)

struct role_snapshot {
	pthread_mutex_t lock;

	/* Protected by lock. Written by the reporter. */
	struct interface_role_row *rows;
	uint32_t n, room;
	bool useful;
	uint64_t epoch;

	int64_t changed_at; /* ns since 1970-01-01 UTC; owned by the reporter */
	atomic_bool changed;
	/*
	 * [exporters]: 1 + epoch in which another exporter got the slot; 0: never. Owned by the
	 * decoder.
	 */
	uint64_t *forgotten;
};

struct role_snapshot *role_snapshot_create(uint32_t exporters)
{
	struct role_snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (snapshot == NULL)
		return NULL;
	snapshot->forgotten = calloc(exporters, sizeof(snapshot->forgotten[0]));
	if (snapshot->forgotten == NULL) {
		free(snapshot);
		return NULL;
	}
	pthread_mutex_init(&snapshot->lock, NULL);
	return snapshot;
}

void role_snapshot_destroy(struct role_snapshot *snapshot)
{
	if (snapshot == NULL)
		return;
	pthread_mutex_destroy(&snapshot->lock);
	free(snapshot->rows);
	free(snapshot->forgotten);
	free(snapshot);
}

static int by_interface(const void *a, const void *b)
{
	const struct interface_role_row *x = a, *y = b;

	if (x->exporter != y->exporter)
		return x->exporter < y->exporter ? -1 : 1;
	if (x->interface != y->interface)
		return x->interface < y->interface ? -1 : 1;
	return x->side < y->side ? -1 : x->side > y->side;
}

static enum interface_role merged(enum interface_role a, enum interface_role b)
{
	if (a == ROLE_OPEN || a == b)
		return b;
	return b == ROLE_OPEN ? a : ROLE_OPEN;
}

static uint32_t merge(struct interface_role_row *rows, uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct interface_role_row *last = kept > 0 ? &rows[kept - 1] : NULL;

		if (last == NULL || by_interface(last, &rows[i]) != 0) {
			rows[kept++] = rows[i];
			continue;
		}
		last->role = merged(last->role, rows[i].role);
		last->saved = merged(last->saved, rows[i].saved);
		if (last->fed_by == EXPORTER_NONE)
			last->fed_by = rows[i].fed_by;
	}
	return kept;
}

/* Rows are worth saving if they have roles, and more than one exporter. */
static bool are_useful(const struct interface_role_row *rows, uint32_t n)
{
	bool any = false;

	if (n == 0 || rows[0].exporter == rows[n - 1].exporter)
		return false;
	for (uint32_t i = 0; i < n && !any; i++)
		any = rows[i].saved != ROLE_OPEN;
	return any;
}

static bool is_saved_same(
	const struct role_snapshot *snapshot, const struct interface_role_row *rows, uint32_t n)
{
	if (n != snapshot->n)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (by_interface(&rows[i], &snapshot->rows[i]) != 0 ||
			rows[i].saved != snapshot->rows[i].saved)
			return false;
	return true;
}

void role_snapshot_restore(
	struct role_snapshot *snapshot, const struct interface_role_row *row, int64_t saved_at)
{
	if (snapshot->n == snapshot->room) {
		uint32_t room = snapshot->room * 2 + 64;
		void *rows = realloc(snapshot->rows, room * sizeof(*row));

		/* The role is not saved until workers learn it again. */
		if (rows == NULL)
			return;
		snapshot->rows = rows;
		snapshot->room = room;
	}
	snapshot->rows[snapshot->n++] = *row;
	snapshot->useful = true;
	snapshot->changed_at = saved_at;
}

void role_snapshot_set(struct role_snapshot *snapshot, struct interface_role_row *rows, uint32_t n,
	uint64_t epoch, int64_t now)
{
	struct interface_role_row *old;
	bool changed, useful;

	if (n > 0)
		qsort(rows, n, sizeof(rows[0]), by_interface);
	n = merge(rows, n);
	useful = are_useful(rows, n);
	changed = useful != snapshot->useful ||
		  (useful && (!is_saved_same(snapshot, rows, n) ||
				     now - snapshot->changed_at > SAVE_AGAIN_NS));
	pthread_mutex_lock(&snapshot->lock);
	old = snapshot->rows;
	snapshot->rows = rows;
	snapshot->n = snapshot->room = n;
	snapshot->useful = useful;
	snapshot->epoch = epoch;
	pthread_mutex_unlock(&snapshot->lock);
	free(old);
	if (!changed)
		return;
	snapshot->changed_at = now;
	atomic_store_explicit(&snapshot->changed, true, memory_order_relaxed);
}

const struct interface_role_row *role_snapshot_rows(
	const struct role_snapshot *snapshot, uint32_t *n)
{
	*n = snapshot->n;
	return snapshot->rows;
}

bool role_snapshot_changed(const struct role_snapshot *snapshot)
{
	return atomic_load_explicit(&snapshot->changed, memory_order_relaxed);
}

void role_snapshot_forget(struct role_snapshot *snapshot, uint32_t exporter, uint64_t epoch)
{
	snapshot->forgotten[exporter] = epoch + 1;
}

bool role_snapshot_emit(struct role_snapshot *snapshot,
	void (*emit)(void *arg, const struct interface_role_row *row), void *arg)
{
	if (pthread_mutex_trylock(&snapshot->lock) != 0)
		return false;
	atomic_store_explicit(&snapshot->changed, false, memory_order_relaxed);
	for (uint32_t i = 0; snapshot->useful && i < snapshot->n; i++)
		if (snapshot->forgotten[snapshot->rows[i].exporter] <= snapshot->epoch)
			emit(arg, &snapshot->rows[i]);
	pthread_mutex_unlock(&snapshot->lock);
	return true;
}
