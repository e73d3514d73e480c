/* SPDX-License-Identifier: BSD-3-Clause */
#include "sketch/measurement.h"
#include "report/merge/measurement_report.h"
#include "report/ledger/collector_report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assertion.h"
#include "base/log.h"
#include "base/log_ratelimit.h"
#include "parallel/workers/node_memory.h"
#include "report/merge/query_report.h"
#include "report/merge/rank.h"

struct measured_epoch {
	struct merger *merger;
	struct log_ratelimit shed, details, undecoded, overflown, incomplete, forgotten;
};

bool measurement_report_create(struct measurements *measurements)
{
	const struct plan *plan = &measurements->plan;
	struct measured_epoch *measured = calloc(CONFIG_MEASUREMENTS_MAX, sizeof(*measured));

	measurements->measured = measured;
	for (uint32_t m = 0; measured != NULL && m < plan->nb_measurements; m++) {
		struct sketch_params shape = plan->measurements[m].params;

		shape.allocator = node_memory_on_node(PLAN_NODE_ANY);
		measured[m].merger = merger_create(plan->measurements[m].ops, &shape);
		if (measured[m].merger == NULL)
			return false;
		merger_reserve(measured[m].merger, plan->nb_instances);
	}
	return measured != NULL;
}

void measurement_report_destroy(struct measurements *measurements)
{
	for (uint32_t m = 0; measurements->measured != NULL && m < CONFIG_MEASUREMENTS_MAX; m++)
		merger_destroy(measurements->measured[m].merger);
	free(measurements->measured);
	measurements->measured = NULL;
}

void measurement_report_drop_expired(const struct measurements *measurements)
{
	for (uint32_t m = 0; m < measurements->plan.nb_measurements; m++)
		merger_drop_expired(measurements->measured[m].merger);
}

struct merger *measurement_report_merger(const struct measurements *measurements, uint32_t m)
{
	return measurements->measured[m].merger;
}

/* Lists the sketches of the workers that counted packets in the epoch. */
static void find_parts(const struct run *run, uint64_t epoch, uint32_t m, struct sketch **parts,
	struct hyperloglog **distinct, struct merge_input *input)
{
	for (uint32_t w = 0; w < run->nb_workers; w++) {
		const struct generation *generation = worker_generation(run->workers[w], epoch);

		if (generation->counted == 0)
			continue;
		input->undecoded.flows += generation->undecoded.flows;
		input->undecoded.packets += generation->undecoded.packets;
		input->undecoded.bytes += generation->undecoded.bytes;
		distinct[input->nb_distinct++] = generation->distinct[m];
		if (input->nb_parts == 0 || parts[input->nb_parts - 1] != generation->sketch[m])
			parts[input->nb_parts++] = generation->sketch[m];
	}
	VERIFY(input->nb_parts, <=, input->nb_distinct);
}

/*
 * Adds the packets of skipped bursts, and of keys that key sampling did not select, over all
 * workers. out->weight becomes the largest weight of a sampled packet.
 */
static void add_waited(const struct run *run, uint64_t epoch, uint32_t m,
	struct report_measurement *out, struct key_sample_counts left_out[KEY_SHARE_MAX])
{
	out->weight = 1;
	for (uint32_t w = 0; w < run->nb_workers; w++) {
		const struct shed_counts *counts = &worker_generation(run->workers[w], epoch)->kept;
		const struct shed_counts_measurement *of = &counts->of[m];

		out->waited.measured += of->measured;
		out->waited.bytes += of->bytes;
		out->waited.added += of->added;
		out->waited.added_bytes += of->added_bytes;
		out->waited.unseen += of->unseen;
		out->waited.unseen_bytes += of->unseen_bytes;
		for (uint32_t rank = 0; rank < KEY_SHARE_MAX; rank++) {
			key_sample_add(&left_out[rank], &counts->left_out[m][rank]);
			key_sample_add(&out->waited.left_out, &counts->left_out[m][rank]);
		}
		if (of->weight > out->weight)
			out->weight = of->weight;
	}
}

static void add_inside(const struct run *run, uint64_t epoch, uint32_t m, struct report_inside *out)
{
	const struct drill_down *drill_down = run_measurements(run, epoch)->drill_down[m];

	if (drill_down == NULL)
		return;
	out->only = true;
	out->networks = drill_down->networks;
	for (uint32_t w = 0; w < run->nb_workers; w++) {
		const struct drill_down_counts *inside =
			&worker_generation(run->workers[w], epoch)->within.inside[m];

		out->packets += inside->packets;
		out->bytes += inside->bytes;
		out->added += inside->added;
		out->added_bytes += inside->added_bytes;
	}
}

static double looked_at(const struct ledger *ledger)
{
	return ledger->received > 0
		       ? (double)(ledger->received - ledger->skipped) / (double)ledger->received
		       : 1;
}

static bool report_measurement(const struct run *run, uint64_t epoch, uint32_t m,
	const struct ledger *of_all, struct report_measurement *out)
{
	const struct measurements *measurements = run_measurements(run, epoch);
	const struct plan_measurement *planned = &measurements->plan.measurements[m];
	struct merger *merger = measurements->measured[m].merger;
	struct sketch *parts[PLAN_WORKERS_MAX];
	struct hyperloglog *distinct[PLAN_WORKERS_MAX];
	struct ledger ledger;
	struct merge_input input = {
		.parts = parts,
		.distinct = distinct,
		.ledger = &ledger,
		.loss_known = !of_all->losses_unknown,
		.confidence = measurement_options(planned->config)->confidence,
		.wanted = measurement_options(planned->config)->top,
	};
	struct rank_limits limits = {
		.top = measurement_options(planned->config)->top,
		.threshold = measurement_options(planned->config)->threshold,
	};

	double confidence, sampling_risk;

	add_waited(run, epoch, m, out, input.left_out);
	add_inside(run, epoch, m, &out->inside);
	ledger = ledger_of_measurement(of_all, out);
	ledger.weight = out->weight;
	out->looked_at = looked_at(&ledger);
	input.smallest = rank_smallest(planned->params.metric, &ledger, limits.threshold);
	find_parts(run, epoch, m, parts, distinct, &input);
	/*
	 * Sampling gets half of the permitted risk, and the sketch the other half. Exporters and
	 * load shedding share the risk of sampling.
	 */
	confidence = input.confidence;
	sampling_risk = (1 - confidence) / 2;
	if (ledger_is_sampled(&ledger) && ledger.weight > 1)
		sampling_risk /= 2;
	if (ledger_is_sampled(&ledger) || ledger.weight > 1) {
		input.confidence = (1 + confidence) / 2;
		input.sampling_risk = sampling_risk;
	}
	if (!report_measurement_ask(out, planned->config->name,
		    measurements_key(measurements, m, epoch), planned->ops->name) ||
		merger_collect(merger, &input) != 0 || rank_flows(merger, &limits, out) != 0)
		return false;
	if (!query_report(run, epoch, m, merger, out))
		return false;
	out->confidence = confidence;
	out->ip_bytes = planned->params.ip_bytes;
	out->deep = planned->params.deep.deepest != FLOW_COUNT;
	collector_report_doubt(out, &ledger);
	collector_report_widen(out, &ledger, sampling_risk);
	if (out->inside.only) /* other keys were not counted, and may have any value */
		out->unlisted_packets.high_known = out->unlisted_bytes.high_known = false;
	return true;
}

/* badness: size of the fault, which the rate limit compares; 0: no fault. */
__attribute__((format(printf, 5, 6))) static void warn_if(uint64_t badness,
	struct log_ratelimit *ratelimit, const struct report_epoch *report, uint32_t m,
	const char *format, ...)
{
	char what[256];
	va_list args;

	if (badness == 0 || !log_ratelimit_due(ratelimit, report->end, badness))
		return;
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	log_warning("interval %llu, %s: %s%s", (unsigned long long)report->number,
		report->measurements[m].name, what, ratelimit->since);
}

static void warn_measurement(
	struct measured_epoch *measured, const struct report_epoch *report, uint32_t m)
{
	const struct report_measurement *measurement = &report->measurements[m];
	unsigned long long shed = measurement->shed_packets,
			   undecoded = measurement->undecoded_packets,
			   forgotten = measurement->forgotten_packets,
			   unrecovered = merger_unrecovered(measured->merger);
	/* The warning about dropped expired flows is enough. */
	bool incomplete = measurement->incomplete && forgotten == 0;

	warn_if(shed, &measured->shed, report, m,
		"no room for %llu packets of new keys: raise --width or --memory", shed);
	warn_if(measurement->refused_details, &measured->details, report, m,
		"no room for the details of %llu flows: raise max= of --flow-detail",
		(unsigned long long)measurement->refused_details);
	warn_if(undecoded, &measured->undecoded, report, m,
		"%llu flows were not decoded, and %llu packets are missing from exact counts: "
		"raise --width or --memory",
		(unsigned long long)measurement->undecoded_flows, undecoded);
	warn_if(measurement->overflown, &measured->overflown, report, m,
		"a flow had more packets or bytes than a cell counts, so the figures are lower "
		"bounds: shorten --interval");
	warn_if(forgotten, &measured->forgotten, report, m,
		"%llu packets of expired flows are missing from --output: raise "
		"expired-keys, or shorten --interval",
		forgotten);
	if (incomplete && unrecovered == UINT64_MAX)
		warn_if(unrecovered, &measured->incomplete, report, m,
			"too many keys to recover the heavy ones");
	else if (incomplete)
		warn_if(unrecovered, &measured->incomplete, report, m,
			"flows of up to %llu %s may be missing: too many keys to recover all "
			"of them",
			unrecovered,
			merger_metric(measured->merger) == SKETCH_PACKETS ? "packets" : "bytes");
}

bool measurement_report_report(const struct run *run, uint64_t epoch, struct report_epoch *report)
{
	struct measured_epoch *measured = run_measurements(run, epoch)->measured;
	bool complete = true;

	for (uint32_t m = 0; m < report->nb_measurements; m++) {
		complete &= report_measurement(
			run, epoch, m, &report->ledger, &report->measurements[m]);
		warn_measurement(&measured[m], report, m);
	}
	return complete;
}
