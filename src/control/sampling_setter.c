/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/sampling_setter.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/printable.h"
#include "base/signals.h"
#include "base/subprocess.h"

#define SECONDS     10 /* for one program */
#define OVS_ROWS    64
#define UUID_BYTES  37
/* Open vSwitch uses this interval if none is set (SFL_DEFAULT_SAMPLING_RATE). */
#define OVS_DEFAULT 400

struct order {
	struct sampling_order order;
	struct sampling_set set;
	struct order *next;
};

struct list {
	struct order *first, **end;
};

struct sampling_setter {
	pthread_t thread;
	pthread_mutex_t lock; /* protects the following */
	pthread_cond_t work;
	struct list waiting, reading, finished;
	atomic_bool ending;
};

/* The sFlow or IPFIX rows of a database. */
struct ovs_rows {
	const char *table;
	char uuids[OVS_ROWS][UUID_BYTES];
	uint32_t n, coarsest;
};

static void append(struct list *list, struct order *order)
{
	if (list->first == NULL)
		list->end = &list->first;
	order->next = NULL;
	*list->end = order;
	list->end = &order->next;
}

static struct order *take_first(struct list *list)
{
	struct order *order = list->first;

	if (order != NULL)
		list->first = order->next;
	return order;
}

static bool fail(char *why, const char *what, const char *reason)
{
	snprintf(why, SAMPLING_SETTER_WHY, "%.40s: %.150s", what, reason);
	make_ascii(why); /* programs may write any bytes */
	return false;
}

static const char *table_of(enum flow_protocol protocol)
{
	switch (protocol) {
	case FLOW_PROTOCOL_SFLOW: return "sflow";
	case FLOW_PROTOCOL_IPFIX: return "ipfix";
	default: return NULL;
	}
}

/* A UUID becomes an argument of ovs-vsctl. */
static bool is_uuid(const char *text)
{
	for (size_t i = 0; i < UUID_BYTES - 1; i++)
		if (i == 8 || i == 13 || i == 18 || i == 23 ? text[i] != '-'
							    : !isxdigit((unsigned char)text[i]))
			return false;
	return true;
}

/* A line has UUID,INTERVAL; without interval the default applies. */
static bool read_line(const char *line, size_t len, struct ovs_rows *rows, char *why)
{
	const char *comma = memchr(line, ',', len);
	unsigned long interval;

	if (comma == NULL || comma - line != UUID_BYTES - 1 || !is_uuid(line))
		return fail(why, "ovs-vsctl", "output not understood");
	if (rows->n == OVS_ROWS)
		return fail(why, "ovs-vsctl", "more than 64 bridges with exports");
	memcpy(rows->uuids[rows->n], line, UUID_BYTES - 1);
	rows->uuids[rows->n++][UUID_BYTES - 1] = '\0';
	interval = strtoul(comma + 1, NULL, 10);
	if (interval == 0 || interval > UINT32_MAX)
		interval = OVS_DEFAULT;
	if (interval > rows->coarsest)
		rows->coarsest = (uint32_t)interval;
	return true;
}

static bool list_rows(const char *ovsdb, enum flow_protocol protocol, const atomic_bool *cancel,
	struct ovs_rows *rows, char *why)
{
	struct subprocess_result result;
	char database[512], table[8];
	char *argv[] = {(char[]){"ovs-vsctl"}, database, (char[]){"--timeout=8"},
		(char[]){"--format=csv"}, (char[]){"--data=bare"}, (char[]){"--no-headings"},
		(char[]){"--columns=_uuid,sampling"}, (char[]){"list"}, table, NULL};

	*rows = (struct ovs_rows){.table = table_of(protocol)};
	if (rows->table == NULL)
		return fail(why, "Open vSwitch",
			"samples neither NetFlow v5 nor v9; export sFlow or IPFIX");
	snprintf(database, sizeof(database), "--db=%s", ovsdb);
	snprintf(table, sizeof(table), "%s", rows->table);
	if (!subprocess_run(argv, SECONDS, cancel, &result))
		return fail(why, "ovs-vsctl", result.error);
	for (const char *line = result.output; *line != '\0'; line++) {
		size_t len = strcspn(line, "\n");

		if (len > 0 && !read_line(line, len, rows, why))
			return false;
		line += len;
		if (*line == '\0')
			break;
	}
	return true;
}

static bool set_rows(const char *ovsdb, struct ovs_rows *rows, uint32_t interval,
	const atomic_bool *cancel, char *why)
{
	char database[512], setting[32], table[8];
	char program[] = "ovs-vsctl", timeout[] = "--timeout=8", separator[] = "--", set[] = "set";
	char *argv[4 + 5 * OVS_ROWS] = {program, database, timeout};
	struct subprocess_result result;
	uint32_t n = 3;

	if (rows->n == 0)
		return fail(why, ovsdb, "no bridge has such an export");
	snprintf(database, sizeof(database), "--db=%s", ovsdb);
	snprintf(setting, sizeof(setting), "sampling=%u", interval);
	snprintf(table, sizeof(table), "%s", rows->table);
	for (uint32_t i = 0; i < rows->n; i++) {
		char *words[] = {separator, set, table, rows->uuids[i], setting};

		memcpy(&argv[n], words, sizeof(words));
		n += 5;
	}
	argv[n] = NULL;
	return subprocess_run(argv, SECONDS, cancel, &result) ||
	       fail(why, "ovs-vsctl", result.error);
}

static bool run_command(const struct sampling_order *order, const atomic_bool *cancel,
	char why[SAMPLING_SETTER_WHY])
{
	char command[4096], address[INET6_ADDRSTRLEN], protocol[16], interval[16];
	char *argv[] = {command, address, protocol, interval, NULL};
	struct subprocess_result result;

	snprintf(command, sizeof(command), "%s", order->command);
	address_print(&order->address, address);
	snprintf(protocol, sizeof(protocol), "%s", flow_protocols[order->protocol]->name);
	snprintf(interval, sizeof(interval), "%u", order->interval);
	return subprocess_run(argv, SECONDS, cancel, &result) ||
	       fail(why, "sampling-command", result.error);
}

static bool execute(
	const struct sampling_order *order, const atomic_bool *cancel, struct sampling_set *set)
{
	struct ovs_rows rows;

	if (order->ovsdb == NULL)
		return run_command(order, cancel, set->why);
	if (!list_rows(order->ovsdb, order->protocol, cancel, &rows, set->why))
		return false;
	if (!set->read)
		return set_rows(order->ovsdb, &rows, order->interval, cancel, set->why);
	set->interval = rows.coarsest;
	return true;
}

static void *work(void *arg)
{
	struct sampling_setter *setter = arg;
	struct order *order;

	pthread_mutex_lock(&setter->lock);
	while (!atomic_load_explicit(&setter->ending, memory_order_relaxed)) {
		order = take_first(&setter->waiting);
		if (order == NULL)
			order = take_first(&setter->reading);
		if (order == NULL) {
			pthread_cond_wait(&setter->work, &setter->lock);
			continue;
		}
		pthread_mutex_unlock(&setter->lock);
		order->set.done = execute(&order->order, &setter->ending, &order->set);
		pthread_mutex_lock(&setter->lock);
		append(&setter->finished, order);
	}
	pthread_mutex_unlock(&setter->lock);
	return NULL;
}

struct sampling_setter *sampling_setter_create(void)
{
	struct sampling_setter *setter = calloc(1, sizeof(*setter));

	if (setter == NULL)
		return NULL;
	pthread_mutex_init(&setter->lock, NULL);
	pthread_cond_init(&setter->work, NULL);
	if (signals_start_thread(&setter->thread, work, setter) == 0)
		return setter;
	pthread_cond_destroy(&setter->work);
	pthread_mutex_destroy(&setter->lock);
	free(setter);
	return NULL;
}

static void free_list(struct list *list)
{
	struct order *order;

	while ((order = take_first(list)) != NULL)
		free(order);
}

void sampling_setter_destroy(struct sampling_setter *setter)
{
	if (setter == NULL)
		return;
	pthread_mutex_lock(&setter->lock);
	atomic_store_explicit(&setter->ending, true, memory_order_relaxed);
	pthread_cond_signal(&setter->work);
	pthread_mutex_unlock(&setter->lock);
	pthread_join(setter->thread, NULL);
	free_list(&setter->waiting);
	free_list(&setter->reading);
	free_list(&setter->finished);
	pthread_cond_destroy(&setter->work);
	pthread_mutex_destroy(&setter->lock);
	free(setter);
}

bool sampling_setter_put(struct sampling_setter *setter, const struct sampling_order *order)
{
	struct order *copy = calloc(1, sizeof(*copy));

	if (copy == NULL)
		return false;
	copy->order = *order;
	copy->set.owner = order->owner;
	copy->set.interval = order->interval;
	copy->set.read = order->interval == 0;
	pthread_mutex_lock(&setter->lock);
	append(copy->set.read ? &setter->reading : &setter->waiting, copy);
	pthread_cond_signal(&setter->work);
	pthread_mutex_unlock(&setter->lock);
	return true;
}

bool sampling_setter_take(struct sampling_setter *setter, struct sampling_set *set)
{
	struct order *order;

	pthread_mutex_lock(&setter->lock);
	order = take_first(&setter->finished);
	pthread_mutex_unlock(&setter->lock);
	if (order == NULL)
		return false;
	*set = order->set;
	free(order);
	return true;
}
