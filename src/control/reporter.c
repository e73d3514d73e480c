/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/reporter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/log_ratelimit.h"
#include "base/signals.h"
#include "base/units.h"
#include "report/rows/balance.h"
#include "control/changes.h"
#include "report/ledger/collector_report.h"
#include "control/control.h"
#include "control/drill_down_update.h"
#include "parallel/epoch.h"
#include "control/exporter_sampling.h"
#include "control/follow.h"
#include "control/shed_controller.h"
#include "report/ledger/ledger.h"
#include "report/ledger/port_events.h"
#include "report/ledger/worker_loads.h"
#include "report/merge/measurement_report.h"
#include "report/ledger/prefix_report.h"
#include "report/merge/records.h"

/* Epochs of live ports end at most this late. */
#define NAP_NS       100000
/* Sleep time without polled devices. A wake-up costs as much CPU time as many flow records. */
#define LONG_NAP_NS  10000000
/* The same while sleeping workers have not left the last epoch */
#define LEAVE_NAP_NS 1000000
/* The same while no packets arrive. Signals end it. */
#define IDLE_NAP_NS  100000000
/* A worker that delays the end of an epoch for longer is logged. */
#define PATIENCE_NS  (SECOND_NS / 2)
/* An lcore that ends later is logged. A source may wait for a file, a driver for a link. */
#define END_NS       (5 * SECOND_NS)
#define WAITING_PART 4 /* slow outputs may delay a source with --pace by 1/4 of an interval */
/* Time between reads of device counters, to end the run after --packets. */
#define ASK_NS       1000000
/* Flow records are held back from the writer for at most this long. */
#define RECORDS_NS   SECOND_NS

struct reporter {
	struct reporter_params params;
	struct run *run;
	uint64_t epoch;  /* oldest epoch without a report */
	uint64_t number; /* lower bound of the number of `epoch` in outputs */
	bool stopping;
	struct reporter_result result;
	int64_t waiting_since; /* start of waiting for workers, monotonic ns; 0: not waiting */
	bool warned;
	bool recycling; /* memory of the previous epoch is still being cleared */
	struct log_ratelimit overloaded;
	struct log_ratelimit missing; /* warnings about packets whose length is unknown */
	struct worker_loads loads;
	struct records records;
	int64_t records_written; /* last time when no flow record was waiting, monotonic ns */
	uint64_t held;           /* most flow records that end with an epoch */
	struct service service;
	struct changes *changes;
	struct exporter_sampling *sampling; /* NULL: disabled */
	bool reloading;
	uint32_t reload; /* request of the control socket for the reload */
	struct control_reloaded reloaded;

	/* Only for live ports. */
	uint64_t open;
	struct epoch_clock clock;
	int64_t started_monotonic, asked_monotonic; /* ns */
	struct ledger_state state;
	struct port_events links;
	struct forwarded forwarded;
	struct shed_controller *controller;
	int64_t arrival_ns; /* ns in which the newest report's packets arrived */
};

static uint64_t monotonic_now(void)
{
	return (uint64_t)clock_now(CLOCK_MONOTONIC);
}

static uint64_t number_of(const struct reporter *reporter, uint64_t epoch)
{
	return reporter->params.first_epoch + epochs_info(reporter->run->epochs, epoch)->number;
}

static void start_clock(struct reporter *reporter)
{
	struct clock_time now = clock_time_now();

	reporter->started_monotonic = now.monotonic;
	epoch_clock_start(
		&reporter->clock, (int64_t)epoch_options(reporter->run->config)->interval, now);
	*epochs_info(reporter->run->epochs, 0) = (struct epoch_info){.start = now.real};
}

static bool limits_reached(struct reporter *reporter, int64_t monotonic)
{
	const struct config *config = reporter->run->config;

	if (feeder_options(config)->duration > 0 &&
		monotonic - reporter->started_monotonic >=
			(int64_t)feeder_options(config)->duration)
		return true;
	if (feeder_options(config)->packets == 0 || monotonic - reporter->asked_monotonic < ASK_NS)
		return false;
	reporter->asked_monotonic = monotonic;
	return ledger_devices_received(&reporter->state) >= feeder_options(config)->packets;
}

static void look_at_clock(struct reporter *reporter, struct clock_time now)
{
	int64_t step = epoch_clock_look(&reporter->clock, now);

	if (step == 0)
		return;
	log_warning("interval %llu: the clock was set %s by %.3f s: %s",
		(unsigned long long)(reporter->params.first_epoch + reporter->clock.number),
		step < 0 ? "back" : "forward", fabs((double)step) / SECOND_NS,
		reporter->clock.interval > 0
			? "the interval ends now, the next one starts at the new time"
			: "the interval ends at its start plus its duration");
}

/* Ends the open epoch of live ports if it is due and the memory of the next one is cleared. */
static void end_due_epoch(struct reporter *reporter)
{
	struct epochs *epochs = reporter->run->epochs;
	struct epoch_clock *clock = &reporter->clock;
	struct clock_time now = clock_time_now();
	struct epoch_info *info = epochs_info(epochs, reporter->open);

	look_at_clock(reporter, now);
	if (!reporter->stopping && limits_reached(reporter, now.monotonic)) {
		reporter->stopping = true;
		run_stop(reporter->run);
	}
	if (reporter->stopping) {
		info->late = false;
		info->end = epoch_clock_end(clock, now);
		epochs_end(epochs, ++reporter->open);
		run_wake(reporter->run);
		return;
	}
	if (!epoch_clock_is_due(clock, now) || !epochs_is_ready(epochs, reporter->open + 1) ||
		!epochs_may_open(epochs, reporter->open + 1))
		return;
	info->late = epoch_clock_is_late(clock, now);
	info->end = epoch_clock_end(clock, now);
	epoch_clock_next(clock, now);
	*epochs_info(epochs, reporter->open + 1) =
		(struct epoch_info){.start = clock->start, .number = clock->number};
	epochs_open(epochs, ++reporter->open);
	run_wake(reporter->run);
}

static bool report_ports(const struct reporter *reporter, struct report_epoch *report)
{
	uint32_t n = reporter->run->nb_ports;

	if (n == 0)
		return true;
	report->ports = calloc(n, sizeof(report->ports[0]));
	if (report->ports == NULL)
		return false;
	report->nb_ports = n;
	for (uint32_t p = 0; p < n; p++) {
		const struct port_meter *meter = &reporter->state.meters[p];

		report->ports[p] = (struct report_port){
			.name = reporter->run->ports[p].name,
			.up = reporter->links.watches[p].up,
			.speed = reporter->links.watches[p].speed,
			.nic_missed = port_meter_count(meter, PORT_MISSED),
			.nic_errors = port_meter_count(meter, PORT_ERRORS),
			.no_mbuf = port_meter_count(meter, PORT_NO_MBUF),
		};
	}
	return true;
}

/*
 * Returns the time in which the packets of the interval arrived. 0: the source waits for outputs.
 */
static uint64_t time_of_arrival(
	const struct run *run, const struct epoch_info *info, const struct report_epoch *report)
{
	const struct feeder_options *options = feeder_options(run->config);

	if (run_waits(run))
		return 0;
	if (run_is_live(run) || options->pace == PACE_RECORDED)
		return report_duration(report);
	return (uint64_t)((unsigned __int128)info->fed * SECOND_NS / options->pace_rate);
}

/* Fills all but the measurements. Returns NULL if out of memory. */
static struct report_epoch *begin_report(
	struct reporter *reporter, const struct epoch_info *info, const struct ledger *ledger)
{
	const struct run *run = reporter->run;
	bool silent = ledger->offered == 0 && ledger->unaccounted == 0 &&
		      (!ledger->collected || !collector_report_anything(run, reporter->epoch));
	uint32_t nb_measurements = run_measurements(run, reporter->epoch)->plan.nb_measurements;
	struct report_epoch *report =
		report_epoch_alloc(silent ? 0 : nb_measurements, run->nb_workers);

	if (report == NULL || !report_ports(reporter, report)) {
		report_epoch_free(report);
		return NULL;
	}
	report->number = reporter->params.first_epoch + info->number;
	report->start = info->start;
	report->end = info->end;
	report->late = info->late;
	if (!run_is_live(run) && feeder_time_is_generated(run->feeder))
		report->took = info->took > 0 ? info->took : 1;
	report->ledger = *ledger;
	report->design = run->design->name;
	report->sharing = plan_sharing_word(plan_options(run->config)->sharing);
	worker_loads_report(&reporter->loads, reporter->epoch, report);
	report->arrival_ns = time_of_arrival(run, info, report);
	reporter->arrival_ns = (int64_t)report->arrival_ns;
	return report;
}

static void warn_if_uneven(struct reporter *reporter, const struct report_epoch *report)
{
	const struct report_load *busiest = balance_busiest(report);

	if (!balance_drowns(&reporter->overloaded, report))
		return;
	log_warning(
		"interval %llu: worker %u is overloaded: it receives %.0f %% of the packets, %.2f times "
		"the mean%s",
		(unsigned long long)report->number, (unsigned int)(busiest - report->loads),
		balance_share(report, busiest) * 100, balance_ratio(report),
		reporter->overloaded.since);
}

static void publish(struct reporter *reporter, struct report_epoch *report)
{
	struct report_epoch *deliveries = writer_deliveries(reporter->params.writer);

	if (deliveries != NULL) {
		deliveries->number = report->number;
		deliveries->start = report->start;
		deliveries->end = report->end;
	}
	control_publish(report, deliveries);
	if (reporter->params.metrics != NULL)
		metrics_take(reporter->params.metrics, report, deliveries);
	else
		report_epoch_free(deliveries);
}

/*
 * Limits the flow records that wait in the writer. The flows of a full table all end with an
 * interval, so the limit must hold them.
 */
static void bound_flows(struct reporter *reporter, const struct plan *plan)
{
	uint64_t held = records_held_at_most(plan);

	if (run_waits(reporter->run))
		return;
	if (held > reporter->held)
		reporter->held = held;
	writer_bound_flows(reporter->params.writer, WRITER_FLOWS + reporter->held);
}

static void look_at_changes(struct reporter *reporter)
{
	const struct run *run = reporter->run;
	const struct plan *before = &run->next->plan;
	uint64_t oldest = reporter->number - reporter->recycling;

	if (reporter->changes == NULL)
		return;
	changes_look(reporter->changes, oldest + 2);
	if (&run->next->plan != before)
		bound_flows(reporter, &run->next->plan);
}

/*
 * A source without its own pace waits for slow outputs. A source with --pace may catch up faster
 * than outputs write, so the reporter waits a part of an interval.
 */
static void push(struct reporter *reporter, struct report_epoch *report)
{
	struct writer *writer = reporter->params.writer;

	if (!run_is_live(reporter->run) && reporter->arrival_ns > 0)
		writer_wait_for_room(writer, report, reporter->arrival_ns / WAITING_PART);
	/* A stop request ends the wait (wait_until_writable()). */
	while (run_waits(reporter->run) && !writer_wait(writer, report)) {
		service_alive(&reporter->service, monotonic_now());
		look_at_changes(reporter);
	}
	writer_push(writer, report);
}

static void hand_over(struct reporter *reporter, struct report_epoch *report)
{
	if (report->nb_measurements == 0) { /* no packets, so no row */
		writer_pass(reporter->params.writer, report->end);
		report_epoch_free(report);
		return;
	}
	reporter->result.epochs++;
	push(reporter, report);
}

/* end: end of the epoch, or its start if the epoch is open. */
static void hand_over_records(struct reporter *reporter, const struct epoch_info *info, int64_t end)
{
	struct report_epoch *report;

	if (reporter->records.waiting == 0)
		return;
	report = records_report(&reporter->records, reporter->epoch,
		reporter->params.first_epoch + info->number, info->start, end);
	if (report != NULL)
		push(reporter, report);
}

/*
 * Passes flow records to the writer before their epoch ends. A later `end` than the start would
 * mean that the records of the interval are complete.
 */
static void hand_over_some(void *arg)
{
	struct reporter *reporter = arg;
	const struct epoch_info *info = epochs_info(reporter->run->epochs, reporter->epoch);

	hand_over_records(reporter, info, info->start);
	reporter->records_written = clock_now(CLOCK_MONOTONIC);
}

static void look_at_records(struct reporter *reporter)
{
	int64_t now;

	records_take(&reporter->records, reporter->epoch);
	now = clock_now(CLOCK_MONOTONIC);
	if (reporter->records.waiting == 0)
		reporter->records_written = now;
	if (now - reporter->records_written >= RECORDS_NS)
		hand_over_some(reporter);
}

static void sum_up(struct reporter_result *result, uint64_t number, const struct ledger *ledger)
{
	double rate = ledger_drop_rate(ledger);

	ledger_add(&result->sum, ledger);
	if (rate > result->worst_rate) {
		result->worst_rate = rate;
		result->worst_epoch = number;
	}
}

static void add_shed(struct reporter_result *result, const struct report_measurement *measurement)
{
	uint32_t i = 0;

	if (measurement->shed_packets == 0)
		return;
	while (i < result->nb_shed && strcmp(result->shed[i].name, measurement->name) != 0)
		i++;
	if (i > CONFIG_MEASUREMENTS_MAX)
		i = CONFIG_MEASUREMENTS_MAX;
	if (i == result->nb_shed)
		snprintf(result->shed[result->nb_shed++].name, sizeof(result->shed[i].name), "%s",
			i < CONFIG_MEASUREMENTS_MAX ? measurement->name : "others");
	result->shed[i].packets += measurement->shed_packets;
}

/* The only measurement also skipped the packets of keys that it sampled out. */
static void sum_up_left_out(struct reporter_result *result, const struct report_epoch *report)
{
	const struct key_sample_counts *left_out = &report->measurements[0].waited.left_out;

	if (report->nb_measurements != 1)
		return;
	result->sum.measured -= left_out->packets;
	result->sum.skipped += left_out->packets;
}

static void sum_up_shed(struct reporter_result *result, const struct report_epoch *report)
{
	result->several |= report->nb_measurements > 1;
	for (uint32_t m = 0; m < report->nb_measurements; m++)
		add_shed(result, &report->measurements[m]);
}

static void recycle(struct reporter *reporter, uint64_t epoch)
{
	reporter->recycling = !run_recycle(reporter->run, epoch);
	service_alive(&reporter->service, monotonic_now());
}

static void warn_missing_bytes(struct reporter *reporter, const struct report_epoch *report)
{
	uint64_t missing = report->ledger.missing_bytes;
	char number[32] = "an unknown number of";

	if (missing == 0 || !log_ratelimit_due(&reporter->missing, report->end, missing))
		return;
	if (report->ledger.collected) {
		log_warning(
			"interval %llu: some flow records have no byte count: only the bytes of "
			"IP headers are counted, and upper bounds are empty%s",
			(unsigned long long)report->number, reporter->missing.since);
		return;
	}
	if (missing != UINT64_MAX)
		snprintf(number, sizeof(number), "up to %llu", (unsigned long long)missing);
	log_warning("interval %llu: the capture truncated packets and did not store their lengths: "
		    "%s bytes are not counted; capture with a longer snap length%s",
		(unsigned long long)report->number, number, reporter->missing.since);
}

/* All workers have left the epoch. */
static void close_epoch(struct reporter *reporter)
{
	struct run *run = reporter->run;
	struct epoch_info info = *epochs_info(run->epochs, reporter->epoch);
	uint64_t open = atomic_load_explicit(&run->epochs->open, memory_order_relaxed);
	bool last = epochs_is_end(run->epochs, open) && reporter->epoch + 1 == open;
	struct ledger ledger = ledger_epoch(&reporter->state, reporter->epoch, &info, last);
	struct report_epoch *report = begin_report(reporter, &info, &ledger);
	int64_t began = clock_now(CLOCK_MONOTONIC);
	bool complete;

	records_take(&reporter->records, reporter->epoch);
	/* A failure skips the following reports, but exporters must be reported. */
	complete = report != NULL &&
		   (!ledger.collected || collector_report_report(run, reporter->epoch, report));
	complete = complete && measurement_report_report(run, reporter->epoch, report) &&
		   prefix_rows_report(run, reporter->epoch, report);
	complete &= drill_down_update(run, reporter->epoch, report);
	complete &= report == NULL ||
		    shed_controller_close(reporter->controller, reporter->epoch, report);
	if (complete)
		complete = exporter_sampling_close(reporter->sampling, report);
	complete &= forwarded_close(&reporter->forwarded, reporter->epoch,
		reporter->params.first_epoch + info.number, last, report);
	records_take_rest(&reporter->records, reporter->epoch, last);
	hand_over_records(reporter, &info, info.end);
	sum_up(&reporter->result, reporter->params.first_epoch + info.number, &ledger);
	if (report != NULL) {
		report->expired = reporter->records.expired;
		report->closing_ns = (uint64_t)(clock_now(CLOCK_MONOTONIC) - began);
		sum_up_shed(&reporter->result, report);
		sum_up_left_out(&reporter->result, report);
		service_epoch(&reporter->service, report, monotonic_now());
		if (reporter->params.recent != NULL) {
			recent_take(reporter->params.recent, report);
			follow_closed();
		}
		publish(reporter, report);
		warn_if_uneven(reporter, report);
		warn_missing_bytes(reporter, report);
		hand_over(reporter, report);
	}
	if (!complete)
		measurement_report_drop_expired(run_measurements(run, reporter->epoch));
	complete &= !records_next_epoch(&reporter->records);
	if (!complete) {
		reporter->result.out_of_memory = true;
		log_error("out of memory: cannot report interval %llu",
			(unsigned long long)(reporter->params.first_epoch + info.number));
	}
	reporter->number = reporter->params.first_epoch + info.number + 1;
	recycle(reporter, reporter->epoch++);
}

static void show_progress(struct reporter *reporter)
{
	struct feeder_progress fed;

	if (run_is_live(reporter->run))
		return;
	fed = feeder_progress(reporter->run->feeder);
	progress_update(reporter->params.progress, fed.share, fed.packets, fed.bytes,
		(uint64_t)clock_now(CLOCK_MONOTONIC));
}

static void wait_for_workers(struct reporter *reporter)
{
	const struct epochs *epochs = reporter->run->epochs;
	uint32_t late = epochs_late(epochs, reporter->epoch);
	int64_t now = clock_now(CLOCK_MONOTONIC);

	if (reporter->waiting_since == 0)
		reporter->waiting_since = now;
	if (reporter->warned || now - reporter->waiting_since < PATIENCE_NS ||
		late == epochs->nb_participants)
		return;
	reporter->warned = true;
	log_warning("interval %llu: %s %u is not responding",
		(unsigned long long)number_of(reporter, reporter->epoch),
		late < reporter->run->nb_workers ? "worker" : "receiver, participant", late);
}

static void wait_for_lcores(struct reporter *reporter)
{
	int64_t now = clock_now(CLOCK_MONOTONIC);

	if (reporter->waiting_since == 0)
		reporter->waiting_since = now;
	if (reporter->warned || now - reporter->waiting_since < END_NS)
		return;
	reporter->warned = true;
	log_warning("waiting for %s to end; a second signal ends the run at once",
		!run_is_live(reporter->run) && !feeder_finished(reporter->run->feeder)
			? "the packet source"
			: "a worker or receiver that is not responding");
}

static void reload(struct reporter *reporter)
{
	reporter->reload = control_reload_asked();
	service_reloading(&reporter->service, monotonic_now());
	writer_reopen(reporter->params.writer);
	prefix_reload_request(&reporter->run->monitor);
	if (reporter->changes != NULL)
		changes_reload(reporter->changes);
	reporter->reloading = true;
}

static void look_at_rules(struct reporter *reporter)
{
	struct prefix_reload *tables = &reporter->run->monitor;
	char *error = reporter->reloaded.rules_error;

	switch (prefix_reload_look(tables)) {
	case PREFIX_RELOAD_NONE: break;
	case PREFIX_RELOAD_REFUSED:
		log_warning("%s; the prefixes stay unchanged", tables->error);
		memcpy(error, tables->error, sizeof(tables->error));
		break;
	case PREFIX_RELOAD_LOADED:
		error[0] = '\0';
		log_notice("%s: %u prefixes, in effect within two intervals", tables->path,
			prefix_filter_entries(tables->next)->n);
		break;
	}
}

_Static_assert(PREFIX_ERROR_MAX <= CONTROL_ERROR_MAX && WRITER_ERROR_MAX <= CONTROL_ERROR_MAX,
	"errors are not truncated");

static void end_reload(struct reporter *reporter)
{
	const struct prefix_reload *tables = &reporter->run->monitor;
	struct control_reloaded *reloaded = &reporter->reloaded;
	struct sink_log_reopened reopened;

	if (writer_reopening(reporter->params.writer, &reopened) || prefix_reload_busy(tables))
		return;
	if (reporter->changes != NULL && changes_reloading(reporter->changes, &reloaded->change))
		return;
	reloaded->changeable = reporter->changes != NULL;
	if (reloaded->change.refused)
		log_warning("%s; the measurements stay unchanged", reloaded->change.error);
	reloaded->outputs = reopened.files;
	memcpy(reloaded->outputs_error, reopened.error, sizeof(reopened.error));
	reloaded->has_monitor = tables->next != NULL;
	if (reloaded->has_monitor)
		reloaded->rules = prefix_filter_entries(tables->next)->n;
	service_ready(&reporter->service);
	control_reload_done(reporter->reload, reloaded);
	reporter->reloading = false;
}

static void obey_signals(struct reporter *reporter)
{
	look_at_rules(reporter);
	if (signals_take_reopen())
		reload(reporter);
	if (reporter->reloading)
		end_reload(reporter);
	if (!signals_stop_requested())
		return;
	if (!reporter->stopping) {
		service_stopping(&reporter->service);
		run_stop(reporter->run);
	}
	reporter->stopping = true;
}

/* Not called after the stop, which takes links down. */
static void look_at_ports(struct reporter *reporter)
{
	int64_t now = clock_now(CLOCK_MONOTONIC);
	uint64_t number = number_of(reporter, reporter->open);
	bool up[OPTION_LIST_MAX], all_there;

	if (reporter->stopping)
		return;
	ledger_sample(&reporter->state, now);
	for (uint32_t p = 0; p < reporter->run->nb_ports; p++)
		port_clock_look(&reporter->run->ports[p].clock, now);
	all_there = port_events_look(&reporter->links, now, number, &reporter->state);
	for (uint32_t p = 0; p < reporter->run->nb_ports; p++)
		up[p] = reporter->links.watches[p].up;
	forwarded_look(&reporter->forwarded, now, up);
	if (reporter->run->ops->look != NULL)
		all_there &= reporter->run->ops->look(reporter->run->source, now, number);
	if (all_there)
		return;
	reporter->result.port_gone = true;
	reporter->stopping = true;
	run_stop(reporter->run);
}

/* Returns the ns until the end of the epoch or of the run, or the next read of device counters. */
static int64_t left(const struct reporter *reporter)
{
	const struct feeder_options *limits = feeder_options(reporter->run->config);
	const struct epoch_clock *clock = &reporter->clock;
	int64_t left = limits->packets > 0 ? ASK_NS : IDLE_NAP_NS;

	if (clock->interval > 0)
		left = RTE_MIN(left, clock->boundary - clock_now(CLOCK_REALTIME));
	if (limits->duration > 0)
		left = RTE_MIN(left, reporter->started_monotonic + (int64_t)limits->duration -
					     clock_now(CLOCK_MONOTONIC));
	return left;
}

/* Returns true if flow records can come while no packets arrive. */
static bool removes_idle_keys(const struct reporter *reporter)
{
	const struct plan *plan = &run_measurements(reporter->run, reporter->epoch)->plan;

	for (uint32_t m = 0; m < plan->nb_measurements; m++)
		if (plan->measurements[m].params.idle_timeout > 0)
			return true;
	return false;
}

static int64_t longest_nap(const struct reporter *reporter)
{
	/* In a live run, this thread stores it, perhaps after report_epochs() loaded it. */
	uint64_t open = atomic_load_explicit(&reporter->run->epochs->open, memory_order_relaxed);

	if (epochs_is_end(reporter->run->epochs, open))
		return NAP_NS;
	if (reporter->epoch < open)
		return LEAVE_NAP_NS;
	if (reporter->reloading || removes_idle_keys(reporter) ||
		shed_controller_is_busy(reporter->controller))
		return LONG_NAP_NS;
	return IDLE_NAP_NS;
}

/* longest: ns; has no effect if devices are polled. */
static void wait_for_epoch(const struct reporter *reporter, int64_t longest)
{
	const struct run *run = reporter->run;
	struct timespec nap = {.tv_nsec = NAP_NS};

	if (run_is_live(run) && (run->nb_ports == 0 || run->blocks))
		nap.tv_nsec = RTE_MAX(RTE_MIN(left(reporter), longest), (int64_t)NAP_NS);
	nanosleep(&nap, NULL);
}

/* open: was loaded with acquire order, so the start of the epoch is valid. */
static void publish_written(struct reporter *reporter, uint64_t open)
{
	struct epochs *epochs = reporter->run->epochs;

	if (!reporter->run->plan->source.joins || reporter->epoch == 0 ||
		epochs_is_end(epochs, open))
		return;
	atomic_store_explicit(&epochs->written,
		writer_written(
			reporter->params.writer, epochs_info(epochs, reporter->epoch)->start),
		memory_order_relaxed);
}

/* Returns after the last report was passed to the writer and all lcores have ended. */
static void report_epochs(struct reporter *reporter)
{
	struct run *run = reporter->run;
	bool live = run_is_live(run);

	for (;;) {
		/* Pairs with the release store of `open`: the previous epoch has its end. */
		uint64_t open = atomic_load_explicit(&run->epochs->open, memory_order_acquire);
		bool ended = epochs_is_end(run->epochs, open);

		obey_signals(reporter);
		look_at_changes(reporter);
		if (live && !ended) {
			look_at_ports(reporter);
			end_due_epoch(reporter);
		}
		shed_controller_look(reporter->controller, clock_now(CLOCK_MONOTONIC), open);
		look_at_records(reporter);
		publish_written(reporter, open);
		if (reporter->recycling) {
			recycle(reporter, reporter->epoch - 1);
			continue;
		}
		if (reporter->epoch < open && epochs_is_closed(run->epochs, reporter->epoch)) {
			reporter->waiting_since = 0;
			reporter->warned = false;
			close_epoch(reporter);
			continue;
		}
		if (reporter->epoch < open)
			wait_for_workers(reporter);
		else
			service_alive(&reporter->service, monotonic_now());
		if (ended && reporter->epoch == open) {
			if (run_finished(run))
				return;
			wait_for_lcores(reporter);
		}
		show_progress(reporter);
		wait_for_epoch(reporter, longest_nap(reporter));
	}
}

struct reporter *reporter_create(struct run *run, const struct profile *profile)
{
	struct reporter *reporter = calloc(1, sizeof(*reporter));

	if (reporter == NULL)
		return NULL;
	reporter->run = run;
	records_init(&reporter->records, run, hand_over_some, reporter);
	if (run_sheds_load(run))
		reporter->controller = shed_controller_create(run, profile);
	if (exporter_sampling_create(&reporter->sampling, run) &&
		worker_loads_init(&reporter->loads, run) &&
		measurement_report_create(run_measurements(run, 0)) &&
		(reporter->controller != NULL || !run_sheds_load(run)))
		return reporter;
	reporter_destroy(reporter);
	return NULL;
}

void reporter_destroy(struct reporter *reporter)
{
	changes_free(reporter->changes);
	shed_controller_destroy(reporter->controller);
	exporter_sampling_destroy(reporter->sampling);
	for (uint64_t epoch = 0; epoch < 2; epoch++)
		measurement_report_destroy(run_measurements(reporter->run, epoch));
	measurement_report_destroy(reporter->run->next);
	worker_loads_fini(&reporter->loads);
	records_fini(&reporter->records);
	free(reporter);
}

static void start_changes(struct reporter *reporter)
{
	const struct reporter_params *params = &reporter->params;
	const struct changes_params changes = {
		.run = reporter->run,
		.writer = params->writer,
		.first_epoch = params->first_epoch,
		.publish = control_change,
		.settle = control_settle,
	};

	if (reporter->run->config->program != NULL)
		reporter->changes = changes_start(&changes);
	control_set_shed_controller(reporter->controller);
	follow_start(params->recent);
	control_start(reporter->run->plan, params->first_epoch, reporter->changes,
		control_options(reporter->run->config)->use == CONTROL_READ);
}

struct reporter_result reporter_run(struct reporter *reporter, const struct reporter_params *params)
{
	int64_t began, cpu;

	reporter->params = *params;
	reporter->number = params->first_epoch;
	service_init(&reporter->service, params->notify);
	bound_flows(reporter, reporter->run->plan);
	if (!run_waits(reporter->run))
		writer_bound_end(params->writer);
	if (run_is_live(reporter->run))
		start_clock(reporter);
	ledger_start(&reporter->state, reporter->run);
	port_events_start(&reporter->links, reporter->run);
	forwarded_start(&reporter->forwarded, reporter->run);
	start_changes(reporter);
	if (params->metrics != NULL)
		metrics_start(params->metrics,
			run_is_live(reporter->run)
				? (int64_t)epoch_options(reporter->run->config)->interval
				: 0);
	began = clock_now(CLOCK_MONOTONIC);
	cpu = clock_now(CLOCK_PROCESS_CPUTIME_ID);
	run_start(reporter->run);
	service_ready(&reporter->service);
	report_epochs(reporter);
	reporter->result.wall = (uint64_t)(clock_now(CLOCK_MONOTONIC) - began);
	reporter->result.cpu = (uint64_t)(clock_now(CLOCK_PROCESS_CPUTIME_ID) - cpu);
	reporter->result.generated =
		!run_is_live(reporter->run) && feeder_time_is_generated(reporter->run->feeder);
	service_stopping(&reporter->service);
	run_join(reporter->run);
	if (reporter->changes != NULL)
		changes_end(reporter->changes);
	exporter_sampling_end(reporter->sampling);
	control_stop();
	follow_end();
	progress_clear(params->progress);
	reporter->result.forwards = reporter->run->plan->forward != FORWARD_OFF;
	reporter->result.forwarded = reporter->forwarded.sum;
	return reporter->result;
}
