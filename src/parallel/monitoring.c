/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/monitoring.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

bool monitoring_start(struct monitoring *monitoring, const char *path, enum monitor_side side,
	struct monitor_rules *rules, uint32_t nb_workers)
{
	*monitoring = (struct monitoring){.path = path, .side = side, .nb_workers = nb_workers};
	monitoring->next = monitor_table_create(rules, side, nb_workers, monitoring->error);
	monitoring->of[0] = monitoring->of[1] = monitoring->next;
	return monitoring->next != NULL;
}

static void *load(void *arg)
{
	struct monitoring *monitoring = arg;
	struct monitor_rules *rules = monitor_rules_read(monitoring->path, monitoring->error);

	monitoring->fresh = NULL;
	if (rules != NULL)
		monitoring->fresh = monitor_table_create(
			rules, monitoring->side, monitoring->nb_workers, monitoring->error);
	/* Pairs with the acquire in monitoring_look(). */
	atomic_store_explicit(&monitoring->loaded, true, memory_order_release);
	return NULL;
}

/* Both generations have the newest table: there is no other. */
static bool settled(const struct monitoring *monitoring)
{
	return monitoring->of[0] == monitoring->next && monitoring->of[1] == monitoring->next;
}

void monitoring_reload(struct monitoring *monitoring)
{
	sigset_t all, before;
	int failed;

	if (monitoring->path == NULL)
		return;
	monitoring->again = monitoring->loading || !settled(monitoring);
	if (monitoring->again)
		return;
	atomic_store_explicit(&monitoring->loaded, false, memory_order_relaxed);
	/* Signals are for the threads that expect them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&monitoring->thread, NULL, load, monitoring);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	monitoring->loading = failed == 0;
	monitoring->again = failed != 0; /* threads may be had later */
}

/* A table that is to be used no more, unless a generation still has it. */
static void release(struct monitoring *monitoring, struct monitor_table *table)
{
	if (table != monitoring->next && table != monitoring->of[0] && table != monitoring->of[1])
		monitor_table_destroy(table);
}

enum monitoring_news monitoring_look(struct monitoring *monitoring)
{
	struct monitor_table *before = monitoring->next;

	if (!monitoring->loading && monitoring->again) /* the file may have changed meanwhile */
		monitoring_reload(monitoring);
	/* Pairs with the release in load(). */
	if (!monitoring->loading ||
		!atomic_load_explicit(&monitoring->loaded, memory_order_acquire))
		return MONITORING_NONE;
	pthread_join(monitoring->thread, NULL);
	monitoring->loading = false;
	if (monitoring->fresh != NULL) {
		monitoring->next = monitoring->fresh;
		release(monitoring, before);
	}
	return monitoring->next != before ? MONITORING_LOADED : MONITORING_REFUSED;
}

bool monitoring_busy(const struct monitoring *monitoring)
{
	return monitoring->loading || monitoring->again;
}

void monitoring_renew(struct monitoring *monitoring, uint64_t epoch)
{
	struct monitor_table *before = monitoring->of[epoch & 1];

	monitoring->of[epoch & 1] = monitoring->next;
	release(monitoring, before);
}

void monitoring_stop(struct monitoring *monitoring)
{
	struct monitor_table *table;

	monitoring->again = false;
	if (monitoring->loading) {
		pthread_join(monitoring->thread, NULL);
		monitor_table_destroy(monitoring->fresh);
		monitoring->loading = false;
	}
	for (uint32_t g = 0; g < 2; g++) {
		table = monitoring->of[g];
		monitoring->of[g] = NULL;
		release(monitoring, table);
	}
	monitor_table_destroy(monitoring->next);
	monitoring->next = NULL;
}
