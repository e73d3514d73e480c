/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/run/prefix_reload.h"

#include "base/log.h"
#include "base/signals.h"

#define END_PATIENCE_S 5

/* A table of rules, which it takes over, and what the program has of them. */
static struct monitor_table *create(
	struct monitor_tables *tables, struct monitor_rules *rules, struct kernel_rules **kernel)
{
	struct monitor_table *table =
		monitor_table_create(rules, tables->side, tables->nb_workers, tables->error);

	if (table == NULL || tables->program == NULL)
		return table;
	*kernel = kernel_rules_create(monitor_table_rules(table), tables->error);
	if (*kernel != NULL)
		return table;
	monitor_table_destroy(table);
	return NULL;
}

static void tell_program(const struct monitor_tables *tables, uint64_t epoch)
{
	if (tables->program != NULL)
		kernel_program_rules(tables->program, epoch, tables->kernel);
}

bool monitor_tables_start(struct monitor_tables *tables, const char *path, enum monitor_side side,
	struct monitor_rules *rules, uint32_t nb_workers, const struct kernel_program *program)
{
	*tables = (struct monitor_tables){
		.path = path, .side = side, .nb_workers = nb_workers, .program = program};
	tables->next = create(tables, rules, &tables->kernel);
	tables->of[0] = tables->of[1] = tables->next;
	if (tables->next == NULL)
		return false;
	tell_program(tables, 0);
	tell_program(tables, 1);
	return true;
}

static void *load(void *arg)
{
	struct monitor_tables *tables = arg;
	bool mistake;
	struct monitor_rules *rules = monitor_rules_read(tables->path, &mistake, tables->error);

	tables->fresh = rules != NULL ? create(tables, rules, &tables->kernel_fresh) : NULL;
	/* Pairs with the acquire in monitor_tables_look(). */
	atomic_store_explicit(&tables->loaded, true, memory_order_release);
	return NULL;
}

/* Both generations have the newest table: there is no other. */
static bool settled(const struct monitor_tables *tables)
{
	return tables->of[0] == tables->next && tables->of[1] == tables->next;
}

void monitor_tables_reload(struct monitor_tables *tables)
{
	if (tables->path == NULL)
		return;
	tables->again = tables->loading || !settled(tables);
	if (tables->again)
		return;
	atomic_store_explicit(&tables->loaded, false, memory_order_relaxed);
	tables->loading = signals_start_thread(&tables->thread, load, tables) == 0;
	tables->again = !tables->loading; /* threads may be had later */
}

/* A table that is to be used no more, unless a generation still has it. */
static void release(struct monitor_tables *tables, struct monitor_table *table)
{
	if (table != tables->next && table != tables->of[0] && table != tables->of[1])
		monitor_table_destroy(table);
}

enum monitor_news monitor_tables_look(struct monitor_tables *tables)
{
	struct monitor_table *before = tables->next;

	if (!tables->loading && tables->again) /* the file may have changed meanwhile */
		monitor_tables_reload(tables);
	/* Pairs with the release in load(). */
	if (!tables->loading || !atomic_load_explicit(&tables->loaded, memory_order_acquire))
		return MONITOR_NEWS_NONE;
	pthread_join(tables->thread, NULL); /* the thread has set `loaded` last */
	tables->loading = false;
	if (tables->fresh != NULL) {
		tables->next = tables->fresh;
		kernel_rules_destroy(tables->kernel);
		tables->kernel = tables->kernel_fresh;
		tables->kernel_fresh = NULL;
		release(tables, before);
	}
	return tables->next != before ? MONITOR_NEWS_LOADED : MONITOR_NEWS_REFUSED;
}

bool monitor_tables_busy(const struct monitor_tables *tables)
{
	return tables->loading || tables->again;
}

void monitor_tables_renew(struct monitor_tables *tables, uint64_t epoch)
{
	struct monitor_table *before = tables->of[epoch & 1];

	if (before == tables->next)
		return;
	tables->of[epoch & 1] = tables->next;
	tell_program(tables, epoch);
	release(tables, before);
}

void monitor_tables_stop(struct monitor_tables *tables)
{
	struct monitor_table *table;

	tables->again = false;
	if (tables->loading) {
		if (!signals_join_thread(tables->thread, END_PATIENCE_S)) {
			log_warning("%s: the end waits for this file to be read; a second signal "
				    "ends the run at once",
				tables->path);
			pthread_join(tables->thread, NULL);
		}
		monitor_table_destroy(tables->fresh);
		kernel_rules_destroy(tables->kernel_fresh);
		tables->loading = false;
	}
	for (uint32_t g = 0; g < 2; g++) {
		table = tables->of[g];
		tables->of[g] = NULL;
		release(tables, table);
	}
	monitor_table_destroy(tables->next);
	kernel_rules_destroy(tables->kernel);
	tables->next = NULL;
	tables->kernel = NULL;
}
