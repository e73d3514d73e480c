/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>

#include "base/router_names.h"
#include "base/units.h"
#include "collect/collector_state.h"

/* Exporters repeat their templates at least every half hour. */
#define WAITING_AGE_NS (3600 * SECOND_NS)

static void share_losses(struct collector *collector)
{
	uint32_t used = exporter_table_used(collector->exporters);

	for (uint32_t slot = 0; slot < used; slot++)
		collector->domains[slot].row.lost_network = collector->domains[slot].gaps;
	collector->others.lost_network = collector->others_gaps;
	for (uint32_t i = 0; i < SOCKETS_MAX; i++) {
		struct socket_loss *socket = &collector->sockets[i];
		uint32_t n = 0;

		if (socket->dropped == 0 && socket->counted == 0)
			continue;
		for (uint32_t slot = 0; slot < used; slot++)
			if (collector->domains[slot].gaps > 0 &&
				collector->domains[slot].socket == i)
				collector->losses[n++] = (struct exporter_loss){
					.slot = slot,
					.gaps = collector->domains[slot].gaps,
				};
		collector->others.lost_socket += losses_share(socket, collector->losses, n);
		for (uint32_t j = 0; j < n; j++) {
			struct exporter_row *row =
				&collector->domains[collector->losses[j].slot].row;

			row->lost_socket = collector->losses[j].lost_socket;
			row->lost_network = collector->losses[j].lost_network;
		}
	}
}

/* `harmless`: unusable records that contain no packets */
static bool leaves_unknown(const struct exporter_row *row, uint64_t harmless)
{
	return row->waiting + row->unknown_template + (row->unusable - harmless) + row->malformed +
		       row->shed + row->lost_network + row->lost_socket >
	       0;
}

static bool is_empty(const struct exporter_row *row)
{
	return row->datagrams == 0 && row->records == 0 && row->lost_socket == 0 &&
	       row->lost_network == 0 && row->unknown_template == 0 && row->waiting == 0 &&
	       row->shed == 0;
}

/* The interval of an exporter that is alive counts, even if it sent no records. */
static void end_sampling(struct collector *collector, struct domain *domain, int64_t alive,
	struct collector_epoch *epoch)
{
	uint32_t interval, before = domain->interval_before;
	uint64_t expected =
		atomic_load_explicit(&collector->expected[domain->row.slot], memory_order_relaxed);

	domain->interval_before = 0;
	if (domain->had_records)
		domain->in_doubt = domain->doubted;
	domain->doubted = domain->had_records = false;
	if (domain->excess > 0) {
		collector_note_lost(collector, (uint64_t)domain->excess, 1);
		if (domain->excess_interval > collector->lost_interval)
			collector->lost_interval = domain->excess_interval;
	}
	domain->excess = 0;
	domain->excess_interval = 0;
	if (domain->heard <= alive)
		return;
	interval = domain_interval(collector, domain);
	if (domain->row.datagrams > 0)
		epoch->losses_unknown |= domain->in_doubt || (expected & EXPECTED_MIXED) != 0 ||
					 interval == SAMPLING_RATIO_UNKNOWN;
	if (interval == 0 || interval == SAMPLING_RATIO_UNKNOWN)
		return;
	/* The packets before a change of the interval may be without a sample. */
	if (before < interval)
		before = interval;
	if (before < (uint32_t)expected)
		before = (uint32_t)expected;
	if (before > epoch->coarsest)
		epoch->coarsest = before;
	if (epoch->finest == 0 || interval < epoch->finest)
		epoch->finest = interval;
}

static bool end_row(struct collector *collector, struct domain *domain,
	void (*emit)(void *arg, const struct exporter_row *row), void *arg)
{
	struct exporter_row *row = &domain->row;
	struct exporter_id id = {row->address, row->domain, row->protocol};
	bool unknown;

	if (domain->nb_sessions > 1)
		domain_count_restarts(collector, domain);
	row->waiting = domain_waiting(collector, domain, collector->now - WAITING_AGE_NS);
	unknown = leaves_unknown(row, domain->harmless) || domain->gaps > 0 || domain->jumped;
	/* In a capture, other traffic may look like a flow protocol. */
	unknown &= domain->proven || collector_is_export_port(collector, domain->dst_port);
	if (row->unknown_template > 0)
		collector_note_domain(
			collector, PROBLEM_NO_TEMPLATE, domain, 0, row->unknown_template);
	row->templates = domain_nb_templates(domain);
	if (!is_empty(row))
		emit(arg, row);
	domain_start_row(domain, &id, row->slot);
	domain->gaps = domain->harmless = 0;
	domain->sums = (struct record_sums){0};
	domain->jumped = false;
	return unknown;
}

static bool end_others(struct collector *collector,
	void (*emit)(void *arg, const struct exporter_row *row), void *arg)
{
	struct exporter_row *row = &collector->others;
	bool unknown = leaves_unknown(row, collector->others_harmless);

	row->others = true;
	row->slot = EXPORTER_NONE;
	if (!is_empty(row))
		emit(arg, row);
	*row = (struct exporter_row){0};
	collector->others_gaps = collector->others_harmless = 0;
	return unknown;
}

struct link_emission {
	const struct collector *collector;
	void (*emit)(void *arg, const struct link_row *row);
	void *arg;
};

static void emit_link(void *arg, uint32_t exporter, struct link_row *row)
{
	const struct link_emission *emission = arg;
	const struct exporter_row *owner = &emission->collector->domains[exporter].row;

	row->slot = exporter;
	row->address = owner->address;
	row->domain = owner->domain;
	router_name_get(exporter, row->exporter);
	emission->emit(emission->arg, row);
}

static void log_evictions(struct collector *collector)
{
	uint64_t n = collector->evicted;

	collector->evicted = 0;
	if (n == 0 || !log_ratelimit_due(&collector->eviction_limit, collector->now, n))
		return;
	if (!collector_log(collector, true,
		    "exporters-max %u is too small: removed %" PRIu64
		    " exporters to make room for others%s",
		    collector->params.exporters_max, n, collector->eviction_limit.since))
		collector->eviction_limit.logged = false;
}

struct collector_epoch collector_end_epoch(struct collector *collector, int64_t alive,
	void (*exporter)(void *arg, const struct exporter_row *row),
	void (*link)(void *arg, const struct link_row *row), void *arg)
{
	struct collector_epoch epoch = {
		.datagrams = collector->datagrams,
		.dropped = collector->dropped,
		.losses_unknown = collector->dropped > 0,
		.finest = collector->finest,
	};
	struct link_emission emission = {collector, link, arg};
	uint32_t used = exporter_table_used(collector->exporters);

	collector_flush(collector);
	share_losses(collector);
	collector_judge_strangers(collector);
	if (collector->links != NULL)
		links_end_epoch(collector->links, emit_link, &emission);
	for (uint32_t slot = 0; slot < used; slot++) {
		struct domain *domain = &collector->domains[slot];

		end_sampling(collector, domain, alive, &epoch);
		epoch.losses_unknown |= end_row(collector, domain, exporter, arg);
	}
	epoch.losses_unknown |= collector->unknown_sampler;
	epoch.lost_packets = collector->lost_packets;
	epoch.lost_interval = collector->lost_interval;
	epoch.overcount = collector->overcount;
	epoch.losses_unknown |= collector_end_senders(collector, exporter, arg);
	epoch.losses_unknown |= end_others(collector, exporter, arg);
	collector_save_templates(collector);
	log_evictions(collector);
	collector_log_next(collector);
	exporter_end_epoch(collector->exporters);
	collector->datagrams = collector->dropped = 0;
	collector->lent = (struct record_sums){0};
	collector->unknown_sampler = false;
	collector->finest = collector->lost_interval = 0;
	collector->lost_packets = 0;
	collector->overcount = 0;
	return epoch;
}
