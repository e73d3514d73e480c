/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/exporter_sampling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/power_of_two.h"
#include "base/random.h"
#include "base/signals.h"
#include "collect/dedup/estimate.h"
#include "collect/exporters/sampling_choice.h"
#include "collect/options.h"
#include "control/sampling_setter.h"
#include "parallel/epoch.h"
#include "parallel/sources/collector_source.h"

#define ROWS_MAX    4096 /* further rows of an interval are dropped */
#define PATIENCE    3    /* intervals with another sampling than set */
#define BACKOFF_MAX 6    /* after failures, waits up to 2^BACKOFF_MAX intervals */
#define BISECTIONS  40

/* All domains of an address and a protocol: one switch, whose sampling is set as a whole. */
struct exporter {
	struct in6_addr address;
	enum flow_protocol protocol;
	char name[EXPORTER_NAME_MAX];
	const struct exporter_rule *rule; /* has an ovsdb; NULL: none */
	/* This interval. sampling: largest interval of the records; 0: no records. */
	uint64_t records;
	uint32_t sampling;
	enum sampling_source source;
	/* Sampling interval that was set; 0: none. Its records state it, except scaled ones. */
	uint32_t set;
	uint32_t differs;  /* intervals in a row whose records state another one */
	uint32_t settling; /* intervals until the next decision */
	bool confirmed;    /* records stated `set` */
	/*
	 * Coarsest interval that packets of the next interval may have, until `peak_until` (ns
	 * since 1970-01-01 UTC). 0: unknown.
	 */
	uint32_t peak;
	int64_t peak_until;
	int64_t mixed_until; /* until then, flow records may span a change */
	struct sampling_chooser chooser;
	uint32_t recommended;    /* last recommendation with a row; 0: none */
	bool unmet;              /* a row states that the limits cannot be met */
	bool ordered, reads;     /* an order is not finished; it reads the interval */
	struct sampling_row row; /* the row that the order will have */
	uint32_t failures;
};

struct exporter_sampling {
	const struct run *run;
	const struct collect_options *options;
	struct sampling_limits limits;
	bool limited; /* a limit exists. Else, only reads the sampling of exporters with an ovsdb */
	struct sampling_setter *setter;              /* NULL: only recommends */
	struct exporter_rule rules[OPTION_LIST_MAX]; /* index: number of the --exporter */
	uint32_t nb_rules;
	int64_t interval;           /* ns */
	struct exporter *exporters; /* [max] */
	uint32_t n, max;
	uint32_t *cells; /* [mask + 1]: index of an exporter, plus 1; 0: empty */
	uint32_t mask;
	struct sampling_row *rows; /* [ROWS_MAX]: not reported yet */
	uint32_t nb_rows;
};

static bool is_scaled(const struct exporter *exporter)
{
	return exporter->rule != NULL && exporter->protocol == FLOW_PROTOCOL_IPFIX;
}

/* Returns true if N is not known, because records do not state it. */
static bool needs_scale(const struct exporter *exporter)
{
	return is_scaled(exporter) && exporter->set == 0 && exporter->records > 0;
}

static const char *name_of(const struct exporter *exporter, char text[INET6_ADDRSTRLEN])
{
	if (exporter->name[0] != '\0')
		return exporter->name;
	address_print(&exporter->address, text);
	return text;
}

static const struct exporter_rule *ovsdb_rule(
	const struct exporter_sampling *sampling, const struct in6_addr *address)
{
	const struct exporter_rule *rule =
		exporter_rule_find(sampling->rules, sampling->nb_rules, address);

	return rule != NULL && rule->ovsdb[0] != '\0' ? rule : NULL;
}

/* Returns NULL if the table is full. */
static struct exporter *find(struct exporter_sampling *sampling, const struct exporter_row *row)
{
	uint64_t words[2], hash;
	struct exporter *exporter;
	uint32_t *cell;

	memcpy(words, &row->address, sizeof(words));
	hash = random_mix(words[0] ^ random_mix(words[1] + row->protocol));
	for (;; hash++) {
		cell = &sampling->cells[hash & sampling->mask];
		if (*cell == 0)
			break;
		exporter = &sampling->exporters[*cell - 1];
		if (exporter->protocol == row->protocol &&
			memcmp(&exporter->address, &row->address, sizeof(row->address)) == 0)
			return exporter;
	}
	if (sampling->n == sampling->max)
		return NULL;
	exporter = &sampling->exporters[sampling->n++];
	*cell = sampling->n;
	exporter->address = row->address;
	exporter->protocol = row->protocol;
	exporter->rule = ovsdb_rule(sampling, &row->address);
	return exporter;
}

static void add_row(struct exporter_sampling *sampling, const struct sampling_row *row)
{
	if (sampling->nb_rows < ROWS_MAX)
		sampling->rows[sampling->nb_rows++] = *row;
}

/* --- bounds of the top keys --- */

/* Returns the distance of the farther bound. */
static double distance(uint64_t value, uint64_t low, uint64_t high)
{
	uint64_t above = high - value, below = value - low;

	return (double)(above > below ? above : below);
}

/* Returns the coarsest interval at which the bounds of a count are at most `error` of it away. */
static double tolerable_of(uint64_t count, uint64_t unit, double log_inverse_risk, double error)
{
	double fine = 1, coarse = SAMPLING_COARSEST;

	for (int i = 0; i < BISECTIONS; i++) {
		double middle = sqrt(fine * coarse);
		struct estimate_bounds bounds =
			estimate_bound(count, middle, unit, log_inverse_risk);

		if (distance(count, bounds.low, bounds.high) <= error * (double)count)
			fine = middle;
		else
			coarse = middle;
	}
	return fine;
}

struct precision {
	double error, tolerable; /* widest bound, and coarsest interval for the target */
	bool error_known;        /* false: no top keys, or no bounds */
};

/* The bounds of the smallest count are widest, relative to the count. */
static void add_precision(struct precision *precision, const struct report_epoch *report,
	const struct report_measurement *measurement, double error)
{
	uint64_t unit = measurement->counts_bytes ? report->ledger.unsampled_frame : 1;
	uint64_t least = UINT64_MAX;
	double tolerable;

	for (uint32_t i = 0; i < measurement->nb_rows; i++) {
		const struct report_figure *figure =
			report_counted(&measurement->rows[i], measurement->counts_bytes);

		if (!figure->known || !figure->high_known) {
			precision->error_known = false;
			return;
		}
		if (figure->value == 0)
			continue;
		precision->error = fmax(precision->error,
			distance(figure->value, figure->low, figure->high) / (double)figure->value);
		if (figure->value < least)
			least = figure->value;
	}
	if (least == UINT64_MAX || measurement->log_inverse_risk <= 0)
		return;
	tolerable = tolerable_of(least, unit, measurement->log_inverse_risk, error);
	if (precision->tolerable <= 0 || tolerable < precision->tolerable)
		precision->tolerable = tolerable;
}

static struct precision precision_of(const struct report_epoch *report, double error)
{
	struct precision precision = {.error_known = true};

	for (uint32_t m = 0; m < report->nb_measurements && precision.error_known; m++)
		add_precision(&precision, report, &report->measurements[m], error);
	if (!precision.error_known || error <= 0)
		precision.tolerable = 0;
	precision.error_known &= precision.error > 0 || report->ledger.measured > 0;
	return precision;
}

/* --- orders --- */

/* Packets until `until` may have the interval. */
static void expect(struct exporter *exporter, uint32_t interval, int64_t until)
{
	if (interval > exporter->peak)
		exporter->peak = interval;
	if (until > exporter->peak_until)
		exporter->peak_until = until;
}

static bool is_mixed(const struct exporter *exporter)
{
	return exporter->protocol != FLOW_PROTOCOL_SFLOW && !is_scaled(exporter);
}

static void put_peak(const struct exporter_sampling *sampling, const struct exporter *exporter)
{
	if (is_scaled(exporter))
		collector_source_scale_sampling(sampling->run->source,
			(uint32_t)(exporter->rule - sampling->rules), exporter->peak);
}

/* Before it is known, figures from IPFIX of the switch have no upper bounds, and N stays. */
static void order_read(struct exporter_sampling *sampling, struct exporter *exporter)
{
	const struct sampling_order request = {
		.owner = (uint32_t)(exporter - sampling->exporters),
		.protocol = exporter->protocol,
		.ovsdb = exporter->rule->ovsdb,
	};

	exporter->ordered = sampling_setter_put(sampling->setter, &request);
	exporter->reads = exporter->ordered;
}

static void order(struct exporter_sampling *sampling, struct exporter *exporter)
{
	const struct sampling_order request = {
		.owner = (uint32_t)(exporter - sampling->exporters),
		.address = exporter->address,
		.protocol = exporter->protocol,
		.ovsdb = exporter->rule != NULL ? exporter->rule->ovsdb : NULL,
		.command = sampling->options->sampling_command,
		.interval = exporter->row.to,
	};

	expect(exporter, exporter->row.from, INT64_MAX);
	expect(exporter, exporter->row.to, INT64_MAX);
	put_peak(sampling, exporter);
	exporter->ordered = sampling_setter_put(sampling->setter, &request);
}

/* Returns true if the failure is the first one. Further ones are not logged. */
static bool note_failure(struct exporter *exporter)
{
	if (exporter->failures < BACKOFF_MAX)
		exporter->failures++;
	exporter->settling = 1U << exporter->failures;
	return exporter->failures == 1;
}

/* The records state the sampling that was set, or cannot state it. */
static void confirm(struct exporter *exporter)
{
	char text[INET6_ADDRSTRLEN];

	if (exporter->failures > 0)
		log_notice("exporter %s: set sampling 1:%u after failures", name_of(exporter, text),
			exporter->set);
	exporter->failures = 0;
	exporter->confirmed = true;
}

static void finish_read(struct exporter_sampling *sampling, const struct sampling_set *set)
{
	struct exporter *exporter = &sampling->exporters[set->owner];
	char text[INET6_ADDRSTRLEN];

	exporter->ordered = exporter->reads = false;
	if (set->done && set->interval > 0) {
		exporter->set = exporter->peak = set->interval;
		exporter->failures = 0;
		put_peak(sampling, exporter);
		return;
	}
	/* A switch may export only sFlow. */
	if (set->done && exporter->records == 0)
		return;
	if (note_failure(exporter))
		log_warning("exporter %s: cannot read its sampling, so upper bounds are empty: %s",
			name_of(exporter, text),
			set->done ? "no bridge has such an export" : set->why);
}

static void finish(struct exporter_sampling *sampling, const struct sampling_set *set)
{
	struct exporter *exporter = &sampling->exporters[set->owner];
	struct sampling_row *row = &exporter->row;
	int64_t now = clock_now(CLOCK_REALTIME);
	int64_t flows = (int64_t)sampling->options->export_timeout;
	char text[INET6_ADDRSTRLEN];

	exporter->ordered = false;
	exporter->peak_until = now + (exporter->protocol == FLOW_PROTOCOL_SFLOW ? 0 : flows) +
			       2 * sampling->interval;
	if (is_mixed(exporter))
		exporter->mixed_until = exporter->peak_until;
	row->time = now;
	row->action = set->done ? "set" : "failed";
	snprintf(row->message, sizeof(row->message), "%s", set->why);
	add_row(sampling, row);
	if (set->done) {
		exporter->set = set->interval;
		exporter->settling = exporter->protocol == FLOW_PROTOCOL_SFLOW ? 1 : 2;
		exporter->differs = 0;
		exporter->confirmed = false;
		if (exporter->failures == 0)
			log_notice("exporter %s: set sampling 1:%u instead of 1:%u (%s)",
				name_of(exporter, text), row->to, row->from, row->reason);
		if (is_scaled(exporter))
			confirm(exporter);
		return;
	}
	if (note_failure(exporter))
		log_warning("exporter %s: cannot set sampling 1:%u: %s", name_of(exporter, text),
			row->to, set->why);
}

/* --- decisions --- */

static uint32_t present(const struct exporter *exporter)
{
	return is_scaled(exporter) && exporter->set > 0 ? exporter->set
	       : exporter->sampling > 1                 ? exporter->sampling
							: 1;
}

static bool is_executed(const struct exporter_sampling *sampling, const struct exporter *exporter)
{
	return sampling->setter != NULL && sampling->limited &&
	       (exporter->rule != NULL || sampling->options->sampling_command != NULL);
}

/* Bounds need the sampling interval after a change, so records must state it. */
static bool sampling_is_stated(const struct exporter *exporter)
{
	return is_scaled(exporter) ||
	       (exporter->source != SAMPLING_NONE && exporter->source != SAMPLING_CONFIGURED);
}

static void recommend(struct exporter_sampling *sampling, struct exporter *exporter)
{
	struct sampling_row *row = &exporter->row;

	if (is_executed(sampling, exporter) && sampling_is_stated(exporter)) {
		if (!signals_stop_requested())
			order(sampling, exporter);
		return;
	}
	if (!sampling_differs(row->to, exporter->recommended))
		return;
	if (is_executed(sampling, exporter)) {
		char text[INET6_ADDRSTRLEN];

		snprintf(row->message, sizeof(row->message), "%s",
			exporter->rule != NULL
				? "Open vSwitch does not sample NetFlow; export sFlow or IPFIX"
				: "its records do not state their sampling");
		if (exporter->recommended == 0)
			log_warning("exporter %s: cannot set sampling 1:%u: %s",
				name_of(exporter, text), row->to, row->message);
	}
	exporter->recommended = row->to;
	row->action = "recommended";
	add_row(sampling, row);
}

static void note_unmet(struct exporter_sampling *sampling, struct exporter *exporter,
	const struct sampling_choice *choice)
{
	struct sampling_row row = exporter->row;
	char text[INET6_ADDRSTRLEN];
	bool unmet = choice->over_budget || choice->over_error;

	if (unmet && !exporter->unmet) {
		row.to = row.from;
		row.action = "unmet";
		row.reason = choice->over_budget ? "budget" : "error";
		snprintf(row.message, sizeof(row.message), "%s",
			choice->over_budget ? "no sampling meets --sampling-budget"
					    : "--sampling-budget does not allow --sampling-error");
		add_row(sampling, &row);
		log_warning("exporter %s: %s: %.1f records per second at 1:%u; raise one of them",
			name_of(exporter, text), row.message, row.records, row.from);
	}
	exporter->unmet = unmet;
}

/* The sampling of an exporter may also be set by others, or a program may have done nothing. */
static void check_set(struct exporter_sampling *sampling, struct exporter *exporter)
{
	struct sampling_row *row = &exporter->row;
	char text[INET6_ADDRSTRLEN];

	if (exporter->set == 0 || is_scaled(exporter))
		return;
	if (exporter->sampling == exporter->set) {
		exporter->differs = 0;
		if (!exporter->confirmed)
			confirm(exporter);
		return;
	}
	if (++exporter->differs < PATIENCE)
		return;
	row->from = exporter->set;
	row->to = exporter->sampling;
	row->reason = "records";
	row->action = "failed";
	snprintf(row->message, sizeof(row->message), "its records state another sampling");
	add_row(sampling, row);
	if (exporter->confirmed || note_failure(exporter))
		log_warning("exporter %s: sampling 1:%u was set, but its records state 1:%u",
			name_of(exporter, text), exporter->set, exporter->sampling);
	exporter->set = exporter->differs = 0;
}

static void decide(struct exporter_sampling *sampling, struct exporter *exporter,
	const struct report_epoch *report, const struct precision *precision)
{
	double seconds = (double)report_duration(report) / (double)SECOND_NS;
	struct sampling_seen seen = {
		.interval = present(exporter),
		.records = seconds > 0 ? (double)exporter->records / seconds : 0,
		.tolerable = precision->tolerable,
	};
	struct sampling_choice choice;

	if (exporter->ordered)
		return;
	exporter->row = (struct sampling_row){
		.time = report->end,
		.address = exporter->address,
		.protocol = exporter->protocol,
		.from = seen.interval,
		.records = seen.records,
		.error = precision->error,
		.error_known = precision->error_known,
	};
	snprintf(exporter->row.name, sizeof(exporter->row.name), "%s", exporter->name);
	if (exporter->settling > 0) {
		exporter->settling--;
		return;
	}
	if (needs_scale(exporter)) {
		if (sampling->setter != NULL)
			order_read(sampling, exporter);
		return;
	}
	if (!sampling->limited)
		return;
	check_set(sampling, exporter);
	if (exporter->differs > 0 || exporter->settling > 0)
		return;
	choice = sampling_choose(&exporter->chooser, &sampling->limits, &seen);
	note_unmet(sampling, exporter, &choice);
	exporter->row.from = seen.interval;
	exporter->row.to = choice.interval;
	exporter->row.reason = sampling_reason_word(choice.reason);
	exporter->row.message[0] = '\0';
	if (choice.reason != SAMPLING_STAYS)
		recommend(sampling, exporter);
}

/* --- an interval --- */

static bool is_exporter(const struct exporter_row *row)
{
	return !row->others && !row->sender;
}

static void add_records(struct exporter_sampling *sampling, const struct exporter_row *row)
{
	struct exporter *exporter = find(sampling, row);

	if (exporter == NULL)
		return;
	exporter->records += row->records + row->left_out;
	if (row->sampling > exporter->sampling) {
		exporter->sampling = row->sampling;
		exporter->source = row->sampling_source;
	}
	memcpy(exporter->name, row->name, sizeof(exporter->name));
}

static void publish(struct exporter_sampling *sampling, struct exporter *exporter,
	const struct exporter_row *row, int64_t end)
{
	if (end > exporter->peak_until && exporter->peak != exporter->set) {
		exporter->peak = exporter->set;
		put_peak(sampling, exporter);
	}
	collector_source_expect_sampling(
		sampling->run->source, row->slot, exporter->peak, end < exporter->mixed_until);
}

static bool take_rows(struct exporter_sampling *sampling, struct report_epoch *report)
{
	struct sampling_row *rows;

	/* A report without measurements is not written. */
	if (sampling->nb_rows == 0 || report->nb_measurements == 0)
		return true;
	rows = calloc(sampling->nb_rows, sizeof(rows[0]));
	if (rows == NULL)
		return false;
	memcpy(rows, sampling->rows, sampling->nb_rows * sizeof(rows[0]));
	report->collected->samplings = rows;
	report->collected->nb_samplings = sampling->nb_rows;
	sampling->nb_rows = 0;
	return true;
}

bool exporter_sampling_close(struct exporter_sampling *sampling, struct report_epoch *report)
{
	const struct report_collected *collected = report->collected;
	struct precision precision;
	struct sampling_set set;

	if (sampling == NULL || collected == NULL)
		return true;
	while (sampling->setter != NULL && sampling_setter_take(sampling->setter, &set))
		(set.read ? finish_read : finish)(sampling, &set);
	for (uint32_t i = 0; i < sampling->n; i++)
		sampling->exporters[i].records = sampling->exporters[i].sampling = 0;
	for (uint64_t i = 0; i < collected->nb_exporters; i++)
		if (is_exporter(&collected->exporters[i]))
			add_records(sampling, &collected->exporters[i]);
	precision = precision_of(report, sampling->options->sampling_error);
	for (uint32_t i = 0; i < sampling->n; i++)
		if (sampling->exporters[i].sampling > 0 || needs_scale(&sampling->exporters[i]))
			decide(sampling, &sampling->exporters[i], report, &precision);
	for (uint64_t i = 0; i < collected->nb_exporters; i++) {
		struct exporter *exporter = is_exporter(&collected->exporters[i])
						    ? find(sampling, &collected->exporters[i])
						    : NULL;

		if (exporter != NULL)
			publish(sampling, exporter, &collected->exporters[i], report->end);
	}
	return take_rows(sampling, report);
}

static void read_scale(struct exporter_sampling *sampling, const struct exporter_rule *rule)
{
	struct exporter_row row = {.protocol = FLOW_PROTOCOL_IPFIX};
	struct exporter *exporter;

	memcpy(&row.address, rule->prefix, sizeof(row.address));
	exporter = find(sampling, &row);
	if (exporter == NULL)
		return;
	snprintf(exporter->name, sizeof(exporter->name), "%s", rule->name);
	put_peak(sampling, exporter);
	order_read(sampling, exporter);
}

bool exporter_sampling_create(struct exporter_sampling **created, const struct run *run)
{
	const struct collect_options *options = collect_options(run->config);
	struct exporter_sampling *sampling;
	bool live = options->listen.n > 0, ovsdb = false, limited;

	*created = NULL;
	limited = options->sampling_budget > 0 || options->sampling_error > 0;
	sampling = calloc(1, sizeof(*sampling));
	if (sampling == NULL)
		return false;
	sampling->nb_rules = collect_collector_params(run->config, sampling->rules).nb_rules;
	for (uint32_t i = 0; i < sampling->nb_rules; i++)
		ovsdb |= sampling->rules[i].ovsdb[0] != '\0';
	if (!limited && !(live && ovsdb)) {
		free(sampling);
		return true;
	}
	sampling->run = run;
	sampling->options = options;
	sampling->limits = (struct sampling_limits){
		(double)options->sampling_budget, options->sampling_error > 0};
	sampling->limited = limited;
	sampling->interval = (int64_t)epoch_options(run->config)->interval;
	sampling->max = 2 * options->exporters_max;
	sampling->mask = (uint32_t)power_of_two_at_least(2 * sampling->max) - 1;
	sampling->exporters = calloc(sampling->max, sizeof(sampling->exporters[0]));
	sampling->cells = calloc(sampling->mask + 1U, sizeof(sampling->cells[0]));
	sampling->rows = calloc(ROWS_MAX, sizeof(sampling->rows[0]));
	*created = sampling;
	if (sampling->exporters == NULL || sampling->cells == NULL || sampling->rows == NULL)
		return false;
	if (!live || !(ovsdb || options->sampling_command != NULL))
		return true;
	sampling->setter = sampling_setter_create();
	if (sampling->setter == NULL)
		return false;
	for (uint32_t i = 0; i < sampling->nb_rules; i++)
		if (sampling->rules[i].ovsdb[0] != '\0')
			read_scale(sampling, &sampling->rules[i]);
	return true;
}

void exporter_sampling_end(struct exporter_sampling *sampling)
{
	char text[INET6_ADDRSTRLEN];

	if (sampling == NULL)
		return;
	sampling_setter_destroy(sampling->setter);
	sampling->setter = NULL;
	for (uint32_t i = 0; i < sampling->n; i++)
		if (sampling->exporters[i].ordered && !sampling->exporters[i].reads)
			log_warning("exporter %s: the run ended while sampling 1:%u was set",
				name_of(&sampling->exporters[i], text),
				sampling->exporters[i].row.to);
}

void exporter_sampling_destroy(struct exporter_sampling *sampling)
{
	if (sampling == NULL)
		return;
	sampling_setter_destroy(sampling->setter);
	free(sampling->exporters);
	free(sampling->cells);
	free(sampling->rows);
	free(sampling);
}
