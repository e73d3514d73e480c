/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/reporter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/rarely.h"
#include "base/signals.h"
#include "base/units.h"
#include "parallel/memory.h"
#include "report/output/balance.h"
#include "report/control.h"
#include "report/epoch_clock.h"
#include "report/ledger.h"
#include "report/link_log.h"
#include "report/loads.h"
#include "report/merge.h"
#include "report/monitored.h"
#include "report/rank.h"
#include "report/records.h"

/* How long it sleeps when there is nothing to do. Live epochs close this late at most. */
#define NAP_NS      100000
/* A worker that holds up an epoch for so long is worth a word. */
#define PATIENCE_NS (SECOND_NS / 2)
/* How often --packets asks the devices what they got. */
#define ASK_NS      1000000
/* Records are handed over when some are so old, however few there are. */
#define RECORDS_NS  SECOND_NS

struct reporter {
	struct reporter_params params;
	struct run *run;
	struct merger *mergers[CONFIG_MEASUREMENTS_MAX];
	uint64_t epoch; /* the oldest that is not reported */
	bool stopping;
	struct reporter_result result;
	int64_t waiting_since; /* monotonic ns, for that epoch's workers; 0: not waiting */
	bool warned;           /* that it waits long */
	bool recycling;        /* the epoch before that one */
	struct rarely drowns, shed[CONFIG_MEASUREMENTS_MAX], undecoded[CONFIG_MEASUREMENTS_MAX],
		incomplete[CONFIG_MEASUREMENTS_MAX], forgotten[CONFIG_MEASUREMENTS_MAX];
	struct loads loads;
	struct records records;
	int64_t records_written; /* monotonic ns, when none waited last */
	struct service service;
	bool reloading;  /* who asked waits to hear that it is done */
	uint32_t reload; /* the last that the control socket asked for before it began */
	struct control_reloaded reloaded;

	/* Live ports: the clock, and the account of packets. */
	uint64_t open;
	struct epoch_clock clock;
	int64_t started_monotonic, asked_monotonic; /* ns */
	struct account account;
	struct link_log links;
};

static int64_t clock_now(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
}

static uint64_t monotonic_now(void)
{
	return (uint64_t)clock_now(CLOCK_MONOTONIC);
}

/* --- the clock of live ports --- */

static void start_clock(struct reporter *reporter)
{
	struct clock_time now = clock_time_now();

	reporter->started_monotonic = now.monotonic;
	epoch_clock_start(&reporter->clock, (int64_t)reporter->run->config->interval, now);
	*epochs_info(reporter->run->epochs, 0) = (struct epoch_info){.start = now.real};
}

static bool limits_reached(struct reporter *reporter, int64_t monotonic)
{
	const struct config *config = reporter->run->config;

	if (config->duration > 0 &&
		monotonic - reporter->started_monotonic >= (int64_t)config->duration)
		return true;
	if (config->packets == 0 || monotonic - reporter->asked_monotonic < ASK_NS)
		return false;
	reporter->asked_monotonic = monotonic;
	return account_devices_received(&reporter->account) >= config->packets;
}

static void look_at_clock(struct reporter *reporter, struct clock_time now)
{
	int64_t step = epoch_clock_look(&reporter->clock, now);

	if (step == 0)
		return;
	log_warning("epoch %llu: the clock was set %s by %.3f s: %s",
		(unsigned long long)(reporter->params.first_epoch + reporter->clock.number),
		step < 0 ? "back" : "forward", fabs((double)step) / SECOND_NS,
		reporter->clock.interval > 0
			? "the epoch ends here, the next one starts at the new time"
			: "its end is its start and the time that passed");
}

/* Closes the open live epoch when its time has come and the next generation is clean. */
static void tell_time(struct reporter *reporter)
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
		info->end = epoch_clock_end(clock, now);
		epochs_end(epochs, ++reporter->open);
		return;
	}
	if (!epoch_clock_is_due(clock, now) || !epochs_is_ready(epochs, reporter->open + 1) ||
		!epochs_may_open(epochs, reporter->open + 1))
		return;
	info->end = epoch_clock_end(clock, now);
	epoch_clock_next(clock, now);
	*epochs_info(epochs, reporter->open + 1) =
		(struct epoch_info){.start = clock->start, .number = clock->number};
	epochs_open(epochs, ++reporter->open);
}

/* --- an epoch's report --- */

static bool report_measurement(struct reporter *reporter, uint64_t epoch, uint32_t m,
	const struct ledger *ledger, struct report_measurement *out)
{
	struct run *run = reporter->run;
	const struct plan_measurement *planned = &run->plan->measurements[m];
	struct sketch *parts[CONFIG_WORKERS_MAX];
	struct hyperloglog *distinct[CONFIG_WORKERS_MAX];
	struct merge_input input = {
		.parts = parts,
		.distinct = distinct,
		.ledger = ledger,
		.loss_known = !ledger->losses_unknown,
		.confidence = planned->config->confidence,
		.wanted = planned->config->top,
		.smallest =
			rank_smallest(planned->params.metric, ledger, planned->config->threshold),
	};
	struct rank_limits limits = {
		.top = planned->config->top,
		.threshold = planned->config->threshold,
	};

	/* What counted nothing has nothing to say. */
	for (uint32_t w = 0; w < run->nb_workers; w++) {
		const struct generation *generation = worker_generation(run->workers[w], epoch);
		uint32_t instance = plan_instance(run->plan, w);

		if (generation->counted == 0)
			continue;
		distinct[input.nb_distinct++] = generation->distinct[m];
		if (input.nb_parts == 0 ||
			parts[input.nb_parts - 1] != run->sketches[epoch & 1][instance][m])
			parts[input.nb_parts++] = run->sketches[epoch & 1][instance][m];
	}
	out->name = planned->config->name;
	out->rule = &planned->config->key;
	out->sketch = planned->ops->name;
	return merger_collect(reporter->mergers[m], &input) == 0 &&
	       rank_flows(reporter->mergers[m], &limits, out) == 0;
}

static void warn_if_shed(struct reporter *reporter, const struct report_epoch *report, uint32_t m)
{
	const struct report_measurement *measurement = &report->measurements[m];
	struct rarely *rarely = &reporter->shed[m];

	if (measurement->shed_packets == 0 ||
		!rarely_due(rarely, report->end, measurement->shed_packets))
		return;
	log_warning("epoch %llu, %s: %llu packets of new keys found no room: raise --width "
		    "or --memory%s",
		(unsigned long long)report->number, measurement->name,
		(unsigned long long)measurement->shed_packets, rarely->since);
}

static void warn_if_undecoded(
	struct reporter *reporter, const struct report_epoch *report, uint32_t m)
{
	const struct report_measurement *measurement = &report->measurements[m];
	struct rarely *rarely = &reporter->undecoded[m];

	if (measurement->undecoded_packets == 0 ||
		!rarely_due(rarely, report->end, measurement->undecoded_packets))
		return;
	log_warning("epoch %llu, %s: %llu flows were not decoded, and %llu packets are in no exact "
		    "figure: raise --width or --memory%s",
		(unsigned long long)report->number, measurement->name,
		(unsigned long long)measurement->undecoded_flows,
		(unsigned long long)measurement->undecoded_packets, rarely->since);
}

static void warn_if_incomplete(
	struct reporter *reporter, const struct report_epoch *report, uint32_t m)
{
	const struct report_measurement *measurement = &report->measurements[m];
	const struct merger *merger = reporter->mergers[m];
	uint64_t unrecovered = merger_unrecovered(merger);
	const char *unit = merger_metric(merger) == SKETCH_PACKETS ? "packets" : "bytes";
	struct rarely *rarely = &reporter->incomplete[m];

	/* warn_if_forgotten() says it of these. */
	if (measurement->forgotten_packets > 0)
		return;
	if (!measurement->incomplete || !rarely_due(rarely, report->end, unrecovered))
		return;
	if (unrecovered == UINT64_MAX)
		log_warning("epoch %llu, %s: too many keys to find the heavy ones again%s",
			(unsigned long long)report->number, measurement->name, rarely->since);
	else
		log_warning("epoch %llu, %s: flows of up to %llu %s may be missing: too many keys "
			    "to find them all again%s",
			(unsigned long long)report->number, measurement->name,
			(unsigned long long)unrecovered, unit, rarely->since);
}

static void warn_if_forgotten(
	struct reporter *reporter, const struct report_epoch *report, uint32_t m)
{
	const struct report_measurement *measurement = &report->measurements[m];
	struct rarely *rarely = &reporter->forgotten[m];

	if (measurement->forgotten_packets == 0 ||
		!rarely_due(rarely, report->end, measurement->forgotten_packets))
		return;
	log_warning("epoch %llu, %s: flows that had ended are missing from --output with %llu "
		    "packets: raise --expired-keys, or shorten --interval%s",
		(unsigned long long)report->number, measurement->name,
		(unsigned long long)measurement->forgotten_packets, rarely->since);
}

/* The report of an epoch without what was measured; NULL where there is no memory. */
static struct report_epoch *begin_report(
	const struct reporter *reporter, const struct epoch_info *info, const struct ledger *ledger)
{
	const struct run *run = reporter->run;
	bool silent = ledger->offered == 0 && ledger->unaccounted == 0;
	struct report_epoch *report =
		report_epoch_alloc(silent ? 0 : run->plan->nb_measurements, run->nb_workers);

	if (report == NULL)
		return NULL;
	report->number = reporter->params.first_epoch + info->number;
	report->start = info->start;
	report->end = info->end;
	report->ledger = *ledger;
	report->design = run->design->name;
	report->sharing = run->config->sharing;
	loads_report(&reporter->loads, reporter->epoch, report);
	return report;
}

static bool report_measurements(struct reporter *reporter, struct report_epoch *report)
{
	bool complete = true;

	for (uint32_t m = 0; m < report->nb_measurements; m++) {
		complete &= report_measurement(
			reporter, reporter->epoch, m, &report->ledger, &report->measurements[m]);
		reporter->result.shed[m] += report->measurements[m].shed_packets;
		warn_if_shed(reporter, report, m);
		warn_if_undecoded(reporter, report, m);
		warn_if_forgotten(reporter, report, m);
		warn_if_incomplete(reporter, report, m);
	}
	return complete;
}

static void warn_if_uneven(struct reporter *reporter, const struct report_epoch *report)
{
	const struct report_load *busiest = balance_busiest(report);

	if (!balance_drowns(&reporter->drowns, report))
		return;
	log_warning("epoch %llu: worker %u drowns: %.0f %% of the packets are its own, %.2f times "
		    "the mean%s",
		(unsigned long long)report->number, (unsigned int)(busiest - report->loads),
		balance_share(report, busiest) * 100, balance_ratio(report),
		reporter->drowns.since);
}

/* On a replay the packets wait for the outputs; live, the outputs must keep up. */
static void push(struct reporter *reporter, struct report_epoch *report)
{
	struct writer *writer = reporter->params.writer;

	while (reporter->run->feeder != NULL && !writer_wait(writer, report))
		service_alive(&reporter->service, monotonic_now());
	writer_push(writer, report);
}

static void hand_over(struct reporter *reporter, struct report_epoch *report)
{
	if (report->nb_measurements == 0) { /* silent: no row */
		writer_pass(reporter->params.writer, report->end);
		report_epoch_free(report);
		return;
	}
	reporter->result.epochs++;
	push(reporter, report);
}

/* What waits of the epoch, whose end may not be known yet. */
static void hand_over_records(struct reporter *reporter, const struct epoch_info *info, int64_t end)
{
	struct report_epoch *report;

	if (reporter->records.waiting == 0)
		return;
	report = records_report(
		&reporter->records, reporter->params.first_epoch + info->number, info->start, end);
	if (report != NULL)
		push(reporter, report);
}

/* More may follow. The epoch's end is not told: its file may be complete only when all are in it,
 * and while it is open, only its number and start are known. */
static void hand_over_some(void *arg)
{
	struct reporter *reporter = arg;
	const struct epoch_info *info = epochs_info(reporter->run->epochs, reporter->epoch);

	hand_over_records(reporter, info, info->start);
	reporter->records_written = clock_now(CLOCK_MONOTONIC);
}

/* Records of an epoch that may still be open. */
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

static void recycle(struct reporter *reporter, uint64_t epoch)
{
	reporter->recycling = !run_recycle(reporter->run, epoch);
	service_alive(&reporter->service, monotonic_now());
}

/* Reports an epoch that no worker touches any more, and begins to give its generation back. */
static void close_epoch(struct reporter *reporter)
{
	struct run *run = reporter->run;
	struct epoch_info info = *epochs_info(run->epochs, reporter->epoch);
	uint64_t open = atomic_load_explicit(&run->epochs->open, memory_order_relaxed);
	bool last = epochs_is_end(run->epochs, open) && reporter->epoch + 1 == open;
	struct ledger ledger = account_epoch(&reporter->account, reporter->epoch, &info, last);
	struct report_epoch *report = begin_report(reporter, &info, &ledger);
	bool complete;

	records_take(&reporter->records, reporter->epoch);
	complete = report != NULL && report_measurements(reporter, report) &&
		   monitored_report(run, reporter->epoch, report);
	records_take_rest(&reporter->records, reporter->epoch, last);
	hand_over_records(reporter, &info, info.end);
	sum_up(&reporter->result, reporter->params.first_epoch + info.number, &ledger);
	if (report != NULL) {
		report->expired = reporter->records.expired;
		service_epoch(&reporter->service, report, monotonic_now());
		control_publish(report);
		warn_if_uneven(reporter, report);
		hand_over(reporter, report);
	}
	for (uint32_t m = 0; !complete && m < run->plan->nb_measurements; m++)
		merger_drop_expired(reporter->mergers[m]);
	complete &= !records_next_epoch(&reporter->records);
	if (!complete) {
		reporter->result.out_of_memory = true;
		log_error("no memory to report epoch %llu",
			(unsigned long long)(reporter->params.first_epoch + info.number));
	}
	recycle(reporter, reporter->epoch++);
}

static void show_progress(struct reporter *reporter)
{
	struct feeder_progress fed;

	if (reporter->run->feeder == NULL)
		return;
	fed = feeder_progress(reporter->run->feeder);
	progress_update(reporter->params.progress, fed.share, fed.packets, fed.bytes,
		(uint64_t)clock_now(CLOCK_MONOTONIC));
}

/* The epoch is over, and some lcore has not left it yet. */
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
	log_warning("epoch %llu waits for %s %u, which does not answer",
		(unsigned long long)(reporter->params.first_epoch +
				     epochs_info(reporter->run->epochs, reporter->epoch)->number),
		late < reporter->run->nb_workers ? "worker" : "the receiver, participant", late);
}

/* What SIGHUP and the control socket ask for. */
static void reload(struct reporter *reporter)
{
	reporter->reload = control_reload_asked();
	service_reloading(&reporter->service, monotonic_now());
	writer_reopen(reporter->params.writer);
	monitoring_reload(&reporter->run->monitoring);
	reporter->reloading = true;
}

static void look_at_rules(struct reporter *reporter)
{
	struct monitoring *monitoring = &reporter->run->monitoring;
	char *error = reporter->reloaded.rules_error;

	switch (monitoring_look(monitoring)) {
	case MONITORING_NONE: break;
	case MONITORING_REFUSED:
		log_warning("%s; the rules stay as they were", monitoring->error);
		memcpy(error, monitoring->error, sizeof(monitoring->error));
		break;
	case MONITORING_LOADED:
		error[0] = '\0';
		log_notice("%s: %u rules, which the epoch after the next will have at the latest",
			monitoring->path, monitor_table_rules(monitoring->next)->n);
		break;
	}
}

_Static_assert(MONITOR_ERROR_MAX <= CONTROL_ERROR_MAX && WRITER_ERROR_MAX <= CONTROL_ERROR_MAX,
	"what was refused is told whole");

static void end_reload(struct reporter *reporter)
{
	const struct monitoring *monitoring = &reporter->run->monitoring;
	struct control_reloaded *reloaded = &reporter->reloaded;
	struct writer_reopened reopened;

	if (writer_reopening(reporter->params.writer, &reopened) || monitoring_busy(monitoring))
		return;
	reloaded->outputs = reopened.files;
	memcpy(reloaded->outputs_error, reopened.error, sizeof(reopened.error));
	reloaded->monitored = monitoring->next != NULL;
	if (reloaded->monitored)
		reloaded->rules = monitor_table_rules(monitoring->next)->n;
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
	} else if (reporter->run->feeder != NULL) {
		feeder_interrupt(reporter->run->feeder);
	}
	reporter->stopping = true;
}

/* Not after the stop, which takes links down. */
static void look_at_ports(struct reporter *reporter)
{
	int64_t now = clock_now(CLOCK_MONOTONIC);
	uint64_t number = reporter->params.first_epoch +
			  epochs_info(reporter->run->epochs, reporter->open)->number;

	if (reporter->stopping)
		return;
	account_sample(&reporter->account, now);
	for (uint32_t p = 0; p < reporter->run->nb_ports; p++)
		port_clock_look(&reporter->run->ports[p].clock, now);
	if (link_log_look(&reporter->links, now, number, &reporter->account))
		return;
	reporter->result.port_gone = true;
	reporter->stopping = true;
	run_stop(reporter->run);
}

/* Until the last epoch is handed over and no lcore works any more. */
static void report_epochs(struct reporter *reporter)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	struct run *run = reporter->run;
	bool live = run->feeder == NULL;

	for (;;) {
		/* Pairs with the release of whoever tells the time: the end comes first. */
		uint64_t open = atomic_load_explicit(&run->epochs->open, memory_order_acquire);
		bool ended = epochs_is_end(run->epochs, open);

		obey_signals(reporter);
		if (live && !ended) {
			look_at_ports(reporter);
			tell_time(reporter);
		}
		look_at_records(reporter);
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
		if (ended && reporter->epoch == open && run_finished(run))
			return;
		show_progress(reporter);
		nanosleep(&nap, NULL);
	}
}

struct reporter *reporter_create(struct run *run)
{
	struct reporter *reporter = calloc(1, sizeof(*reporter));

	if (reporter == NULL)
		return NULL;
	reporter->run = run;
	if (!loads_init(&reporter->loads, run)) {
		reporter_destroy(reporter);
		return NULL;
	}
	records_init(&reporter->records, run, reporter->mergers, hand_over_some, reporter);
	for (uint32_t m = 0; m < run->plan->nb_measurements; m++) {
		struct sketch_params shape = run->plan->measurements[m].params;

		shape.allocator = memory_on_node(PLAN_NODE_ANY);
		reporter->mergers[m] = merger_create(run->plan->measurements[m].ops, &shape);
		if (reporter->mergers[m] == NULL) {
			reporter_destroy(reporter);
			return NULL;
		}
		merger_reserve(reporter->mergers[m], run->plan->nb_instances);
	}
	return reporter;
}

void reporter_destroy(struct reporter *reporter)
{
	for (uint32_t m = 0; m < reporter->run->plan->nb_measurements; m++)
		if (reporter->mergers[m] != NULL)
			merger_destroy(reporter->mergers[m]);
	loads_fini(&reporter->loads);
	records_fini(&reporter->records);
	free(reporter);
}

struct reporter_result reporter_run(struct reporter *reporter, const struct reporter_params *params)
{
	reporter->params = *params;
	service_init(&reporter->service, params->notify);
	if (reporter->run->feeder == NULL) {
		/* What ends with an interval comes at once. */
		writer_bound_flows(
			params->writer, WRITER_FLOWS + records_held_at_most(reporter->run));
		start_clock(reporter);
	}
	account_start(&reporter->account, reporter->run);
	link_log_start(&reporter->links, reporter->run);
	run_start(reporter->run);
	service_ready(&reporter->service);
	report_epochs(reporter);
	service_stopping(&reporter->service);
	run_join(reporter->run);
	progress_clear(params->progress);
	return reporter->result;
}
