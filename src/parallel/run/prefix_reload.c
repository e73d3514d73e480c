/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/run/prefix_reload.h"

#include <stdio.h>

#include "base/assertion.h"
#include "base/log.h"
#include "base/signals.h"

#define END_PATIENCE_S 5

/* Takes ownership of `rules`. */
static struct prefix_filter *create(
	struct prefix_reload *tables, struct prefix_list *rules, void **of_source)
{
	struct prefix_filter *table =
		prefix_filter_create(rules, tables->side, tables->nb_workers, tables->error);
	char error[SOURCE_ERROR_MAX];

	if (table == NULL || tables->ops->rules_create == NULL)
		return table;
	*of_source = tables->ops->rules_create(prefix_filter_entries(table), error);
	if (*of_source != NULL)
		return table;
	snprintf(tables->error, sizeof(tables->error), "%s", error);
	prefix_filter_destroy(table);
	return NULL;
}

static void update_source(const struct prefix_reload *tables, uint64_t epoch)
{
	if (tables->ops->rules_use != NULL)
		tables->ops->rules_use(tables->source, epoch, tables->of_source);
}

static void destroy_of_source(const struct prefix_reload *tables, void *rules)
{
	if (rules != NULL)
		tables->ops->rules_destroy(rules);
}

bool prefix_reload_start(struct prefix_reload *tables, const char *path, enum prefix_side side,
	struct prefix_list *rules, uint32_t nb_workers, const struct source_ops *ops, void *source)
{
	VERIFY(ops->rules_create != NULL, ==, ops->rules_use != NULL);
	VERIFY(ops->rules_create != NULL, ==, ops->rules_destroy != NULL);
	*tables = (struct prefix_reload){
		.path = path, .side = side, .nb_workers = nb_workers, .ops = ops, .source = source};
	tables->next = create(tables, rules, &tables->of_source);
	tables->of[0] = tables->of[1] = tables->next;
	if (tables->next == NULL)
		return false;
	update_source(tables, 0);
	update_source(tables, 1);
	return true;
}

static void *load(void *arg)
{
	struct prefix_reload *tables = arg;
	bool mistake;
	struct prefix_list *rules = prefix_rules_read(tables->path, &mistake, tables->error);

	tables->fresh = rules != NULL ? create(tables, rules, &tables->of_source_fresh) : NULL;
	/* Pairs with the acquire in prefix_reload_look(). */
	atomic_store_explicit(&tables->loaded, true, memory_order_release);
	return NULL;
}

/* If both generations use the newest table, there is no other table. */
static bool settled(const struct prefix_reload *tables)
{
	return tables->of[0] == tables->next && tables->of[1] == tables->next;
}

void prefix_reload_request(struct prefix_reload *tables)
{
	if (tables->path == NULL)
		return;
	tables->again = tables->loading || !settled(tables);
	if (tables->again)
		return;
	atomic_store_explicit(&tables->loaded, false, memory_order_relaxed);
	tables->loading = signals_start_thread(&tables->thread, load, tables) == 0;
	tables->again = !tables->loading; /* try again later */
}

static void release(struct prefix_reload *tables, struct prefix_filter *table)
{
	if (table != tables->next && table != tables->of[0] && table != tables->of[1])
		prefix_filter_destroy(table);
}

enum prefix_reload_result prefix_reload_look(struct prefix_reload *tables)
{
	struct prefix_filter *before = tables->next;

	if (!tables->loading && tables->again)
		prefix_reload_request(tables);
	/* Pairs with the release in load(). */
	if (!tables->loading || !atomic_load_explicit(&tables->loaded, memory_order_acquire))
		return PREFIX_RELOAD_NONE;
	pthread_join(
		tables->thread, NULL); /* returns soon: the thread ends after it has set `loaded` */
	tables->loading = false;
	if (tables->fresh != NULL) {
		tables->next = tables->fresh;
		destroy_of_source(tables, tables->of_source);
		tables->of_source = tables->of_source_fresh;
		tables->of_source_fresh = NULL;
		release(tables, before);
	}
	return tables->next != before ? PREFIX_RELOAD_LOADED : PREFIX_RELOAD_REFUSED;
}

bool prefix_reload_busy(const struct prefix_reload *tables)
{
	return tables->loading || tables->again;
}

void prefix_reload_renew(struct prefix_reload *tables, uint64_t epoch)
{
	struct prefix_filter *before = tables->of[epoch & 1];

	if (before == tables->next)
		return;
	tables->of[epoch & 1] = tables->next;
	update_source(tables, epoch);
	release(tables, before);
}

void prefix_reload_stop(struct prefix_reload *tables)
{
	struct prefix_filter *table;

	tables->again = false;
	if (tables->loading) {
		if (!signals_join_thread(tables->thread, END_PATIENCE_S)) {
			log_warning("%s: still reading this file: the run ends after that; send a "
				    "second signal to end it now",
				tables->path);
			pthread_join(tables->thread, NULL);
		}
		prefix_filter_destroy(tables->fresh);
		destroy_of_source(tables, tables->of_source_fresh);
		tables->loading = false;
	}
	for (uint32_t g = 0; g < 2; g++) {
		table = tables->of[g];
		tables->of[g] = NULL;
		release(tables, table);
	}
	prefix_filter_destroy(tables->next);
	destroy_of_source(tables, tables->of_source);
	tables->next = NULL;
	tables->of_source = NULL;
}
