/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/rows/recent.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"

struct recent_entry {
	uint64_t count;
	struct report_epoch *epoch;
	struct recent_entry *next;
};

struct recent {
	struct recent_entry
		/* Epoch n is at index n % RECENT_EPOCHS. NULL: no epoch. */
		*_Atomic slots[RECENT_EPOCHS];
	_Atomic uint64_t end;     /* number of epochs so far */
	_Atomic uint32_t readers; /* readers that access a slot now */
	/* Only the thread that adds epochs may use this list. */
	struct recent_entry *unused;
};

struct recent *recent_create(void)
{
	return calloc(1, sizeof(struct recent));
}

static void free_entry(struct recent_entry *entry)
{
	if (entry == NULL)
		return;
	report_epoch_free(entry->epoch);
	free(entry);
}

static void free_unused(struct recent *recent)
{
	while (recent->unused != NULL) {
		struct recent_entry *entry = recent->unused;

		recent->unused = entry->next;
		free_entry(entry);
	}
}

void recent_destroy(struct recent *recent)
{
	if (recent == NULL)
		return;
	for (uint32_t s = 0; s < RECENT_EPOCHS; s++)
		free_entry(atomic_load_explicit(&recent->slots[s], memory_order_relaxed));
	free_unused(recent);
	free(recent);
}

static void *copy(const void *from, size_t size, bool *whole)
{
	void *copied = size > 0 ? malloc(size) : NULL;

	if (copied != NULL)
		memcpy(copied, from, size);
	*whole &= copied != NULL || size == 0;
	return copied;
}

static bool copy_measurement(struct report_measurement *to, const struct report_measurement *from)
{
	bool whole = true;

	*to = *from;
	to->asked = NULL;
	to->rows = NULL;
	to->flows = NULL;
	to->queries = NULL;
	to->nb_queries = 0;
	to->figures = NULL;
	to->inside.keys = NULL;
	to->nb_flows = 0;
	if (to->nb_rows > RECENT_ROWS)
		to->nb_rows = RECENT_ROWS;
	to->rows = copy(from->rows, to->nb_rows * sizeof(to->rows[0]), &whole);
	return whole && report_measurement_ask(to, from->name, from->key_rule, from->sketch);
}

/* Copies only what an entry keeps. Returns NULL if out of memory. */
static struct report_epoch *shorten(const struct report_epoch *epoch)
{
	struct report_epoch *brief = report_epoch_alloc(epoch->nb_measurements, epoch->workers);
	bool whole = true;

	if (brief == NULL)
		return NULL;
	free(brief->costs);
	brief->costs = NULL;
	brief->number = epoch->number;
	brief->start = epoch->start;
	brief->end = epoch->end;
	brief->ledger = epoch->ledger;
	brief->design = epoch->design;
	brief->sharing = epoch->sharing;
	brief->expired = epoch->expired;
	brief->live = epoch->live;
	brief->late = epoch->late;
	brief->took = epoch->took;
	brief->closing_ns = epoch->closing_ns;
	memcpy(brief->loads, epoch->loads, epoch->workers * sizeof(epoch->loads[0]));
	brief->nb_ports = epoch->nb_ports;
	brief->ports = copy(epoch->ports, epoch->nb_ports * sizeof(epoch->ports[0]), &whole);
	for (uint32_t m = 0; m < epoch->nb_measurements && whole; m++)
		whole = copy_measurement(&brief->measurements[m], &epoch->measurements[m]);
	if (whole)
		return brief;
	report_epoch_free(brief);
	return NULL;
}

static struct recent_entry *make_entry(const struct report_epoch *epoch, uint64_t count)
{
	struct recent_entry *entry = calloc(1, sizeof(*entry));

	if (entry == NULL)
		return NULL;
	entry->count = count;
	entry->epoch = shorten(epoch);
	if (entry->epoch != NULL)
		return entry;
	free(entry);
	return NULL;
}

void recent_take(struct recent *recent, const struct report_epoch *epoch)
{
	uint64_t count = atomic_load_explicit(&recent->end, memory_order_relaxed);
	struct recent_entry *old = atomic_exchange_explicit(&recent->slots[count % RECENT_EPOCHS],
		make_entry(epoch, count), memory_order_seq_cst);

	/*
	 * Pairs with the acquire load in recent_span(). A reader of the new count finds its entry.
	 */
	atomic_store_explicit(&recent->end, count + 1, memory_order_release);
	if (old != NULL) {
		VERIFY(old->count + RECENT_EPOCHS, ==, count);
		old->next = recent->unused;
		recent->unused = old;
	}
	/* Pairs with the release in recent_get(). Entries are unused if there are no readers. */
	if (atomic_load_explicit(&recent->readers, memory_order_seq_cst) == 0)
		free_unused(recent);
}

struct recent_span recent_span(const struct recent *recent)
{
	/* Pairs with the release store in recent_take(). */
	uint64_t end = atomic_load_explicit(&recent->end, memory_order_acquire);

	return (struct recent_span){end > RECENT_EPOCHS ? end - RECENT_EPOCHS : 0, end};
}

struct report_epoch *recent_get(struct recent *recent, uint64_t count)
{
	struct report_epoch *epoch = NULL;
	struct recent_entry *entry;

	atomic_fetch_add_explicit(&recent->readers, 1, memory_order_seq_cst);
	entry = atomic_load_explicit(&recent->slots[count % RECENT_EPOCHS], memory_order_seq_cst);
	if (entry != NULL && entry->count == count)
		epoch = report_epoch_share(entry->epoch);
	/* Pairs with the load of `readers` in recent_take(). */
	atomic_fetch_sub_explicit(&recent->readers, 1, memory_order_release);
	return epoch;
}

static struct report_epoch *next_there(struct recent *recent, uint64_t *count)
{
	struct recent_span span;
	struct report_epoch *epoch;

	do {
		span = recent_span(recent);
		if (*count < span.first)
			*count = span.first;
		epoch = *count < span.end ? recent_get(recent, *count) : NULL;
	} while (epoch == NULL && (*count)++ < span.end);
	return epoch;
}

struct report_epoch *recent_find(struct recent *recent, uint64_t number, uint64_t *count)
{
	struct recent_span span = recent_span(recent);
	uint64_t low = span.first, high = span.end;
	struct report_epoch *epoch;

	/* Epoch numbers increase with the position. A missing epoch is too old. */
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		bool is_old;

		epoch = recent_get(recent, middle);
		is_old = epoch == NULL || epoch->number < number;
		report_epoch_free(epoch);
		if (is_old)
			low = middle + 1;
		else
			high = middle;
	}
	*count = low;
	return next_there(recent, count);
}
