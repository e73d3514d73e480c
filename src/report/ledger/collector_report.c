/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/ledger/collector_report.h"

#include <math.h>
#include <stdlib.h>

#include "collect/dedup/estimate.h"
#include "collect/dedup/neighbours.h"
#include "parallel/sources/collector_source.h"
#include "sketch/counter.h"

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/*
 * Returns the coarsest sampling interval of the live exporters if they may have seen packets
 * without sampling any of them. Returns 0 if the bounds at the interval `sampling` of the counted
 * records cover such packets ("Silent samplers" in docs/ESTIMATES.md).
 */
static uint32_t silent_interval(const struct collector_epoch *epoch, double sampling)
{
	bool differ = epoch->finest != epoch->coarsest;

	return (double)epoch->coarsest > sampling && (differ || sampling <= 1) ? epoch->coarsest
									       : 0;
}

/* Each lost sample may stand for packets of any key, with the largest frame size. */
static void add_lost(const struct collector_epoch *epoch, struct ledger *ledger)
{
	if (epoch->lost_packets == 0)
		return;
	ledger->doubtful += epoch->lost_packets;
	if (epoch->lost_interval > ledger->sampling)
		ledger->sampling = epoch->lost_interval;
	if (ledger->unsampled_frame > ledger->largest_frame)
		ledger->largest_frame = ledger->unsampled_frame;
}

void collector_report_account(
	const struct run *run, uint64_t epoch, uint64_t fed, struct ledger *ledger)
{
	const struct collector_source_generation *generation =
		collector_source_generation(run->source, epoch);

	bool late = false;

	ledger->collected = true;
	ledger->losses_unknown |= generation->epoch.losses_unknown;
	for (uint32_t w = 0; w < run->nb_workers; w++) {
		const struct dedup_counts *counts =
			&collector_source_counts(run->source, w, epoch)->counts;

		ledger->duplicate += worker_generation(run->workers[w], epoch)->duplicate;
		if (counts->sampling > ledger->sampling)
			ledger->sampling = counts->sampling;
		ledger->losses_unknown |= counts->unknown;
		ledger->maybe_duplicate += counts->duplicate_packets;
		ledger->maybe_duplicate_bytes += counts->duplicate_bytes;
		ledger->maybe_new += counts->new_packets;
		ledger->maybe_new_bytes += counts->new_bytes;
		if (counts->observers > ledger->observers)
			ledger->observers = counts->observers;
		late |= counts->late;
		if (counts->bytes_unknown)
			ledger->missing_bytes = UINT64_MAX;
	}
	ledger->unsampled_frame =
		collector_source_largest_frame(run->source, ledger->largest_frame);
	ledger->overcount = generation->epoch.overcount;
	add_lost(&generation->epoch, ledger);
	ledger->silent_interval = silent_interval(&generation->epoch, ledger->sampling);
	if (late)
		ledger->observers = 0;
	ledger->offered = ledger->received;
	/* A capture has a second count: the packets read from it. Sockets have none. */
	ledger->unaccounted = !run_is_live(run) ? distance(fed, generation->taken) : 0;
}

bool collector_report_anything(const struct run *run, uint64_t epoch)
{
	const struct collector_source_generation *generation =
		collector_source_generation(run->source, epoch);

	/* A receiver of datagrams must learn that the interval has none. */
	return generation->epoch.datagrams + generation->epoch.dropped > 0 ||
	       generation->exporters.n > 0 || collector_source_exports_datagrams(run->source);
}

static void *take_rows(struct collector_source_rows *rows, uint64_t *n)
{
	void *items = rows->items;

	*n = rows->n;
	*rows = (struct collector_source_rows){0};
	return items;
}

static void add_counts(const struct run *run, uint64_t epoch, struct report_collected *collected)
{
	for (uint64_t i = 0; i < collected->nb_exporters; i++) {
		struct exporter_row *row = &collected->exporters[i];

		if (row->sender)
			continue; /* a sender without records */
		for (uint32_t w = 0; w < run->nb_workers; w++) {
			const struct collector_source_counts *of_worker =
				collector_source_counts(run->source, w, epoch);
			const struct record_counts *counts =
				row->others ? &of_worker->others
					    : &of_worker->by_exporter[row->slot];

			row->counts.counted += counts->counted;
			row->counts.duplicate += counts->duplicate;
			row->counts.edge_only += counts->edge_only;
		}
	}
}

static int by_packets(const void *a, const void *b)
{
	const struct path_row *x = *(const struct path_row *const *)a;
	const struct path_row *y = *(const struct path_row *const *)b;

	if (x->packets != y->packets)
		return x->packets < y->packets ? 1 : -1;
	return key_compare(&x->key, &y->key);
}

static bool take_paths(const struct run *run, uint64_t epoch, struct report_collected *collected)
{
	uint64_t n = 0;

	for (uint32_t w = 0; w < run->nb_workers; w++)
		n += collector_source_counts(run->source, w, epoch)->nb_paths;
	if (n == 0)
		return true;
	collected->paths = malloc(n * sizeof(collected->paths[0]));
	collected->owned = calloc(run->nb_workers, sizeof(collected->owned[0]));
	if (collected->paths == NULL || collected->owned == NULL)
		return false;
	for (uint32_t w = 0; w < run->nb_workers; w++) {
		struct collector_source_counts *counts =
			collector_source_counts(run->source, w, epoch);
		uint64_t bytes, at = 0;
		char *rows = take_rows(&counts->paths, &bytes);

		collected->owned[collected->nb_owned++] = rows;
		for (uint64_t i = 0; i < counts->nb_paths; i++) {
			const struct path_row *row =
				(const struct path_row *)(const void *)(rows + at);

			collected->paths[collected->nb_paths++] = row;
			at += path_row_bytes(row->nb_hops);
		}
		counts->nb_paths = 0;
	}
	qsort(collected->paths, collected->nb_paths, sizeof(collected->paths[0]), by_packets);
	return true;
}

static void free_paths(struct report_collected *collected)
{
	for (uint32_t i = 0; i < collected->nb_owned; i++)
		free(collected->owned[i]);
	free(collected->owned);
	free(collected->paths);
	collected->owned = NULL;
	collected->paths = NULL;
	collected->nb_owned = 0;
	collected->nb_paths = 0;
}

static bool find_neighbours(const struct run *run, struct report_collected *collected)
{
	struct neighbours *neighbours = collector_source_neighbours(run->source);
	bool done;

	if (neighbours == NULL)
		return true;
	done = neighbours_find(neighbours, collected->paths, collected->nb_paths,
		&collected->neighbours, &collected->nb_neighbours);
	if (!config_exports(run->config, "paths"))
		free_paths(collected);
	return done;
}

static const struct exporter_row **rows_by_slot(
	const struct report_collected *collected, uint32_t exporters_max)
{
	const struct exporter_row **rows = calloc(exporters_max, sizeof(rows[0]));

	for (uint64_t i = 0; rows != NULL && i < collected->nb_exporters; i++) {
		const struct exporter_row *row = &collected->exporters[i];

		if (!row->others && !row->sender && row->slot < exporters_max)
			rows[row->slot] = row;
	}
	return rows;
}

/* Returns the index of the first row of the interface, or the position to insert one. */
static uint32_t find_role(
	const struct interface_role_row *rows, uint32_t n, uint32_t exporter, uint32_t interface)
{
	uint32_t first = 0;

	while (n > 0) {
		const struct interface_role_row *middle = &rows[first + n / 2];

		if (middle->exporter < exporter ||
			(middle->exporter == exporter && middle->interface < interface)) {
			first += n / 2 + 1;
			n -= n / 2 + 1;
		} else {
			n /= 2;
		}
	}
	return first;
}

static bool add_roles(
	const struct run *run, uint64_t epoch, int64_t end, struct report_collected *collected)
{
	uint32_t max = collector_source_exporters_max(run->source), n;
	const struct interface_role_row *roles =
		collector_source_roles(run->source, epoch, end, &n);
	const struct exporter_row **rows;

	if (n == 0 || collected->nb_links == 0)
		return true;
	rows = rows_by_slot(collected, max);
	for (uint64_t i = 0; rows != NULL && i < collected->nb_links; i++) {
		struct link_row *link = &collected->links[i];

		if (link->direction != LINK_IN || !link->has_interface)
			continue;
		for (uint32_t r = find_role(roles, n, link->slot, link->interface);
			r < n && roles[r].exporter == link->slot &&
			roles[r].interface == link->interface && link->role == ROLE_OPEN;
			r++) {
			if (roles[r].side == WHOLE_EXPORTER)
				continue;
			link->role = roles[r].role;
			link->fed_by = roles[r].fed_by < max ? rows[roles[r].fed_by] : NULL;
		}
	}
	free(rows);
	return rows != NULL;
}

bool collector_report_report(const struct run *run, uint64_t epoch, struct report_epoch *report)
{
	struct collector_source_generation *generation =
		collector_source_generation(run->source, epoch);
	struct report_collected *collected = calloc(1, sizeof(*collected));
	bool complete = !generation->exporters.no_memory && !generation->links.no_memory &&
			!generation->datagrams.no_memory && !generation->payloads.no_memory;

	if (collected == NULL)
		return false;
	report->collected = collected;
	for (uint32_t w = 0; w < run->nb_workers; w++)
		complete &= !collector_source_counts(run->source, w, epoch)->paths.no_memory;
	collected->exporters = take_rows(&generation->exporters, &collected->nb_exporters);
	collected->links = take_rows(&generation->links, &collected->nb_links);
	collected->datagrams = take_rows(&generation->datagrams, &collected->nb_datagrams);
	collected->payloads = take_rows(&generation->payloads, &collected->payload_bytes);
	add_counts(run, epoch, collected);
	complete &= add_roles(run, epoch, report->end, collected);
	return take_paths(run, epoch, collected) && find_neighbours(run, collected) && complete;
}

struct doubt {
	double sampling;    /* coarsest interval of the counted records */
	double log_inverse; /* each single bound fails with probability exp(-log_inverse) */
	double overcount;   /* figures may be too large by this factor */
	/* packets that may have passed exporters without any sample */
	uint64_t not_sampled;
};

static uint64_t product(uint64_t a, uint64_t b)
{
	uint64_t result;

	return __builtin_mul_overflow(a, b, &result) ? UINT64_MAX : result;
}

/* Packets or bytes of one packet at most: `counted` if it is in records, else `any`. */
struct collector_report_unit {
	uint64_t counted, any;
};

/* A double has only 53 bits: the quotient could be rounded above `low`. */
static uint64_t without_overcount(uint64_t low, double overcount)
{
	double less = (double)low / overcount;

	return overcount > 1 && less < (double)low ? (uint64_t)less : low;
}

/* Each new bound depends only on the old one. */
static void widen(
	struct report_figure *figure, const struct doubt *doubt, struct collector_report_unit unit)
{
	double sampling = doubt->sampling, log_inverse = doubt->log_inverse;

	if (figure->known)
		figure->low = estimate_bound(without_overcount(figure->low, doubt->overcount),
			sampling, unit.counted, log_inverse)
				      .low;
	if (figure->high_known)
		figure->high = counter64_sum(
			estimate_bound(figure->high, sampling, unit.any, log_inverse).high,
			product(doubt->not_sampled, unit.any));
}

/*
 * Sets bounds for confidence 1. `sampling` is the coarsest interval, so at least count / sampling
 * packets were sampled. No upper bound is certain.
 */
static void forget_bounds(struct report_measurement *measurement, double sampling)
{
	double interval = sampling > 1 ? sampling : 1;

	for (uint32_t i = 0; i < measurement->nb_rows; i++) {
		struct report_row *row = &measurement->rows[i];

		row->packets.low = (uint64_t)((double)row->packets.low / interval);
		row->bytes.low = (uint64_t)((double)row->bytes.low / interval);
		row->packets.high_known = row->bytes.high_known = false;
	}
	measurement->unlisted_packets.high_known = measurement->unlisted_bytes.high_known = false;
}

/*
 * `duplicate` packets or bytes may have been counted twice, `new` ones dropped by mistake. Each may
 * belong to this key. At most `observers` exporters reported one packet; 0: unknown.
 */
static void doubt_figure(
	struct report_figure *figure, uint64_t duplicate, uint64_t new, uint32_t observers)
{
	uint64_t least = observers > 0 ? figure->low / observers : 0;

	if (figure->known && duplicate > 0)
		figure->low = figure->low > least + duplicate ? figure->low - duplicate : least;
	if (figure->high_known)
		figure->high = new < UINT64_MAX - figure->high ? figure->high + new : UINT64_MAX;
}

void collector_report_doubt(struct report_measurement *measurement, const struct ledger *ledger)
{
	for (uint32_t i = 0; i < measurement->nb_rows; i++) {
		struct report_row *row = &measurement->rows[i];

		doubt_figure(&row->packets, ledger->maybe_duplicate, ledger->maybe_new,
			ledger->observers);
		doubt_figure(&row->bytes, ledger->maybe_duplicate_bytes, ledger->maybe_new_bytes,
			ledger->observers);
	}
	doubt_figure(&measurement->unlisted_packets, 0, ledger->maybe_new, 1);
	doubt_figure(&measurement->unlisted_bytes, 0, ledger->maybe_new_bytes, 1);
}

void collector_report_widen(
	struct report_measurement *measurement, const struct ledger *ledger, double risk)
{
	struct doubt doubt = {
		.sampling = ledger->sampling,
		.overcount = ledger->overcount > 1 ? ledger->overcount : 1,
	};
	double risk_of_keys = risk / 4;
	const struct collector_report_unit one = {1, 1};
	const struct collector_report_unit frame = {ledger->largest_frame, ledger->unsampled_frame};
	uint64_t keys;

	if (risk <= 0) {
		if (ledger_is_sampled(ledger))
			forget_bounds(measurement, ledger->sampling);
		return;
	}
	/*
	 * A quarter of the risk covers more packets than `keys`. If exporters are silent, half of
	 * this quarter covers `not_sampled`. The rest covers both bounds of both metrics, for all
	 * keys. The number of packets limits the number of keys.
	 */
	if (ledger->silent_interval > 0) {
		risk_of_keys = risk / 8;
		doubt.not_sampled = estimate_unsampled(ledger->silent_interval, -log(risk_of_keys));
	}
	keys = counter64_sum(estimate_bound(ledger->measured + ledger->skipped + ledger->doubtful,
				     doubt.sampling, 1, -log(risk_of_keys))
				     .high,
		doubt.not_sampled);
	doubt.log_inverse = log(16 / (3 * risk)) + log((double)keys + 1);
	measurement->log_inverse_risk = doubt.log_inverse;
	if (!ledger_is_sampled(ledger))
		return;
	for (uint32_t i = 0; i < measurement->nb_rows; i++) {
		struct report_row *row = &measurement->rows[i];

		widen(&row->packets, &doubt, one);
		widen(&row->bytes, &doubt, frame);
	}
	widen(&measurement->unlisted_packets, &doubt, one);
	widen(&measurement->unlisted_bytes, &doubt, frame);
}
