/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/metrics/metrics_text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/assertion.h"
#include "base/units.h"

struct metric_samples {
	struct text *text;
	const struct metrics_view *view;
	const struct metric *metric;
	bool openmetrics;
	bool begun; /* HELP and TYPE are written */
	char before_label;
	struct text labels; /* labels of the heavy hitters, one after the other */
	size_t *label_ends;
	uint32_t row; /* index of the current row in label_ends */
};

const char *metric_type_word(enum metric_type type)
{
	static const char *const words[] = {"counter", "gauge", "info"};

	return words[type];
}

const char *metric_suffix(const struct metric *metric)
{
	static const char *const suffixes[] = {"_total", "", "_info"};

	return suffixes[metric->type];
}

static void add_line(struct metric_samples *samples, const char *what, const char *value)
{
	const struct metric *metric = samples->metric;

	text_str(samples->text, "# ");
	text_str(samples->text, what);
	text_str(samples->text, metric->name);
	/*
	 * OpenMetrics names the metric without the suffix; the older format names it with the
	 * suffix.
	 */
	text_str(samples->text, samples->openmetrics ? "" : metric_suffix(metric));
	text_char(samples->text, ' ');
	text_str(samples->text, value);
	text_char(samples->text, '\n');
}

/* Called before the first sample, so that a metric without samples is omitted. */
static void begin_family(struct metric_samples *samples)
{
	const struct metric *metric = samples->metric;
	bool info = metric->type == METRIC_INFO && !samples->openmetrics;

	samples->begun = true;
	add_line(samples, "HELP ", metric->help);
	add_line(samples, "TYPE ", metric_type_word(info ? METRIC_GAUGE : metric->type));
	if (samples->openmetrics && metric->unit[0] != '\0')
		add_line(samples, "UNIT ", metric->unit);
}

static void begin_sample(struct metric_samples *samples)
{
	if (!samples->begun)
		begin_family(samples);
	text_str(samples->text, samples->metric->name);
	text_str(samples->text, metric_suffix(samples->metric));
	samples->before_label = '{';
}

static void add_escaped(struct text *text, const char *value)
{
	size_t left = strlen(value), room = METRICS_LABEL_MAX;

	while (left > 0) {
		size_t len = text_character_len(value, left);

		if (len > room || room == 0)
			return;
		if (len == 0)
			text_str(text, "\xef\xbf\xbd");
		else if (*value == '\n')
			text_str(text, "\\n");
		else if (*value == '"' || *value == '\\')
			text_printf(text, "\\%c", *value);
		else
			text_add(text, value, len);
		len += len == 0;
		value += len;
		left -= len;
		room -= len;
	}
}

static void add_label(struct metric_samples *samples, const char *name, const char *value)
{
	text_char(samples->text, samples->before_label);
	text_str(samples->text, name);
	text_str(samples->text, "=\"");
	add_escaped(samples->text, value);
	text_char(samples->text, '"');
	samples->before_label = ',';
}

static void add_number_label(struct metric_samples *samples, const char *name, uint32_t value)
{
	char word[16];

	snprintf(word, sizeof(word), "%u", value);
	add_label(samples, name, word);
}

static void end_labels(struct metric_samples *samples)
{
	text_str(samples->text, samples->before_label == ',' ? "} " : " ");
}

static void end_sample(struct metric_samples *samples, uint64_t value)
{
	end_labels(samples);
	text_u64(samples->text, value);
	text_char(samples->text, '\n');
}

static void end_sample_ns(struct metric_samples *samples, uint64_t ns)
{
	end_labels(samples);
	text_printf(samples->text, "%llu.%09llu\n", (unsigned long long)(ns / SECOND_NS),
		(unsigned long long)(ns % SECOND_NS));
}

static void end_sample_double(struct metric_samples *samples, double value)
{
	end_labels(samples);
	text_printf(samples->text, "%.15g\n", value);
}

struct metric_items {
	const void *first;
	size_t n, size;
};

/*
 * A kind of items. Each metric has one sample per item, or per item and label value (metric.words).
 */
struct metric_source {
	struct metric_items (*items)(const struct metrics_view *view);
	void (*labels)(struct metric_samples *samples, const void *item); /* NULL: none */
	bool (*shown)(const struct metrics_view *view, const void *item); /* NULL: all items are */
};

static struct metric_items the_run(const struct metrics_view *view)
{
	return (struct metric_items){view, 1, sizeof(*view)};
}

static void label_build(struct metric_samples *samples, const void *item)
{
	const struct metrics_view *view = item;

	add_label(samples, "version", view->version);
	add_label(samples, "dpdk", view->dpdk);
}

static struct metric_items the_sums(const struct metrics_view *view)
{
	return (struct metric_items){view->sums, 1, sizeof(*view->sums)};
}

static struct metric_items last_epoch(const struct metrics_view *view)
{
	return (struct metric_items){view->last, view->last != NULL, sizeof(*view->last)};
}

static struct metric_items ports(const struct metrics_view *view)
{
	const struct report_epoch *last = view->last;

	return (struct metric_items){last != NULL ? last->ports : NULL,
		last != NULL ? last->nb_ports : 0, sizeof(last->ports[0])};
}

static void label_port(struct metric_samples *samples, const void *item)
{
	add_label(samples, "port", ((const struct report_port *)item)->name);
}

static struct metric_items directions(const struct metrics_view *view)
{
	const struct report_epoch *last = view->last;

	return (struct metric_items){last != NULL ? last->forwarded : NULL,
		last != NULL ? last->nb_forwarded : 0, sizeof(last->forwarded[0])};
}

static void label_direction(struct metric_samples *samples, const void *item)
{
	const struct report_forwarded *direction = item;

	add_label(samples, "in", direction->in);
	add_label(samples, "out", direction->out);
}

static struct metric_items collector(const struct metrics_view *view)
{
	bool collects = view->last != NULL && view->last->collected != NULL;

	return (struct metric_items){
		collects ? view->last->collected : NULL, collects, sizeof(*view->last->collected)};
}

static struct metric_items collector_sums(const struct metrics_view *view)
{
	return (struct metric_items){view->sums, collector(view).n, sizeof(*view->sums)};
}

static struct metric_items workers(const struct metrics_view *view)
{
	return (struct metric_items){
		view->sums->workers, view->sums->nb_workers, sizeof(view->sums->workers[0])};
}

static void label_worker(struct metric_samples *samples, const void *item)
{
	const struct metrics_worker *worker = item;

	add_number_label(samples, "worker", (uint32_t)(worker - samples->view->sums->workers));
	add_number_label(samples, "lcore", worker->lcore);
}

static struct metric_items summed_measurements(const struct metrics_view *view)
{
	return (struct metric_items){view->sums->measurements, view->sums->nb_measurements,
		sizeof(view->sums->measurements[0])};
}

static void label_summed(struct metric_samples *samples, const void *item)
{
	add_label(samples, "measurement", ((const struct metrics_measurement *)item)->name);
}

static bool is_active(const struct metrics_view *view, const void *item)
{
	return metrics_sums_show(view->sums, item);
}

static struct metric_items measurements(const struct metrics_view *view)
{
	const struct report_epoch *last = view->last;

	return (struct metric_items){last != NULL ? last->measurements : NULL,
		last != NULL ? last->nb_measurements : 0, sizeof(last->measurements[0])};
}

static void label_measurement(struct metric_samples *samples, const void *item)
{
	add_label(samples, "measurement", ((const struct report_measurement *)item)->name);
}

static void label_parameters(struct metric_samples *samples, const void *item)
{
	const struct report_measurement *measurement = item;

	label_measurement(samples, item);
	add_label(samples, "key", measurement->key_rule->name);
	add_label(samples, "sketch", measurement->sketch);
	add_label(samples, "count", measurement->counts_bytes ? "bytes" : "packets");
}

static struct metric_items deliveries(const struct metrics_view *view)
{
	const struct report_epoch *told = view->deliveries;

	return (struct metric_items){told != NULL ? told->deliveries : NULL,
		told != NULL ? told->nb_deliveries : 0, sizeof(told->deliveries[0])};
}

static void label_delivery(struct metric_samples *samples, const void *item)
{
	const struct report_delivery *delivery = item;

	add_label(samples, "export", delivery->name);
	add_label(samples, "kind", delivery->kind);
}

/* A destination can be named twice, and long names are truncated. */
static bool same_series(const struct report_delivery *a, const struct report_delivery *b)
{
	return strncmp(a->name, b->name, METRICS_LABEL_MAX) == 0 && strcmp(a->kind, b->kind) == 0;
}

static bool is_first_of_series(const struct metrics_view *view, const void *item)
{
	const struct report_delivery *first = view->deliveries->deliveries;

	while (!same_series(first, item))
		first++;
	return first == item;
}

static bool has_spool(const struct metrics_view *view, const void *item)
{
	return ((const struct report_delivery *)item)->spool_size > 0 &&
	       is_first_of_series(view, item);
}

static const struct metric_source of_run = {the_run, NULL, NULL},
				  of_build = {the_run, label_build, NULL},
				  of_sums = {the_sums, NULL, NULL},
				  of_epoch = {last_epoch, NULL, NULL},
				  of_port = {ports, label_port, NULL},
				  of_direction = {directions, label_direction, NULL},
				  of_collector = {collector, NULL, NULL},
				  of_collector_sums = {collector_sums, NULL, NULL},
				  of_worker = {workers, label_worker, NULL},
				  of_summed = {summed_measurements, label_summed, is_active},
				  of_measurement = {measurements, label_measurement, NULL},
				  of_parameters = {measurements, label_parameters, NULL},
				  of_delivery = {deliveries, label_delivery, is_first_of_series},
				  of_spool = {deliveries, label_delivery, has_spool};

static const void *at(const void *item, size_t offset)
{
	return (const char *)item + offset;
}

static uint64_t sum_of_series(
	const struct metrics_view *view, const struct report_delivery *delivery, size_t offset)
{
	const struct report_epoch *told = view->deliveries;
	uint64_t sum = 0;

	for (uint32_t d = 0; d < told->nb_deliveries; d++)
		if (same_series(&told->deliveries[d], delivery))
			sum += *(const uint64_t *)at(&told->deliveries[d], offset);
	return sum;
}

static bool has_value(const struct metric *metric, const void *item, size_t offset)
{
	switch (metric->form) {
	case METRIC_U32_IF: return *(const uint32_t *)at(item, offset) != 0;
	case METRIC_U64_IF:
	case METRIC_NS_IF: return *(const uint64_t *)at(item, offset) != 0;
	default: return metric->known == 0 || *(const bool *)at(item, metric->known);
	}
}

static void end_value(struct metric_samples *samples, const void *item, size_t offset)
{
	const void *value = at(item, offset);
	int64_t ns;

	switch (samples->metric->form) {
	case METRIC_U64:
	case METRIC_U64_IF: end_sample(samples, *(const uint64_t *)value); break;
	case METRIC_U32: end_sample(samples, *(const uint32_t *)value); break;
	case METRIC_U32_IF: /* converts Mbit/s to bytes per second */
		end_sample(samples, (uint64_t) * (const uint32_t *)value * 1000000 / 8);
		break;
	case METRIC_BOOL: end_sample(samples, *(const bool *)value); break;
	case METRIC_NOT: end_sample(samples, !*(const bool *)value); break;
	case METRIC_ONE: end_sample(samples, 1); break;
	case METRIC_NS:
	case METRIC_NS_IF: end_sample_ns(samples, *(const uint64_t *)value); break;
	case METRIC_DOUBLE: end_sample_double(samples, *(const double *)value); break;
	case METRIC_SERIES: end_sample(samples, sum_of_series(samples->view, item, offset)); break;
	case METRIC_TIME:
		ns = *(const int64_t *)value;
		if (ns < 0) /* capture from before 1970 */
			end_sample_double(samples, (double)ns / SECOND_NS);
		else
			end_sample_ns(samples, (uint64_t)ns);
		break;
	case METRIC_LEDGER_PACKETS:
	case METRIC_LEDGER_BYTES: break; /* add_ledger() */
	}
}

static void begin_item(struct metric_samples *samples, const void *item)
{
	begin_sample(samples);
	if (samples->metric->of->labels != NULL)
		samples->metric->of->labels(samples, item);
}

static void add_ledger(struct metric_samples *samples, const void *item)
{
	const struct ledger *ledger = at(item, samples->metric->at);
	bool bytes = samples->metric->form == METRIC_LEDGER_BYTES;

	for (uint32_t c = 0; c < LEDGER_COLUMNS; c++) {
		const char *bytes_of = ledger_columns[c].bytes_of;

		if (!ledger_has(ledger, c) || (bytes_of != NULL) != bytes)
			continue;
		begin_item(samples, item);
		add_label(samples, "fate", bytes ? bytes_of : ledger_columns[c].name);
		end_sample(samples, ledger_column(ledger, c));
	}
}

static void add_item(struct metric_samples *samples, const void *item)
{
	const struct metric *metric = samples->metric;
	const struct metrics_word *word = metric->words;

	if (metric->form >= METRIC_LEDGER_PACKETS) {
		add_ledger(samples, item);
	} else if (word == NULL && has_value(metric, item, metric->at)) {
		begin_item(samples, item);
		end_value(samples, item, metric->at);
	}
	for (; word != NULL && word->word != NULL; word++) {
		if (!has_value(metric, item, metric->at + word->at))
			continue;
		begin_item(samples, item);
		add_label(samples, metric->label != NULL ? metric->label : "fate", word->word);
		end_value(samples, item, metric->at + word->at);
	}
}

static void add_items(struct metric_samples *samples)
{
	const struct metric_source *source = samples->metric->of;
	struct metric_items items = source->items(samples->view);

	for (size_t i = 0; i < items.n; i++) {
		const void *item = at(items.first, i * items.size);

		if (source->shown == NULL || source->shown(samples->view, item))
			add_item(samples, item);
	}
}

static void add_row_labels(struct metric_samples *samples,
	const struct report_measurement *measurement, const struct report_row *row)
{
	char value[KEY_FIELD_TEXT_MAX];

	samples->before_label = '{';
	add_label(samples, "measurement", measurement->name);
	for (uint32_t f = 0; f < KEY_FIELD_COUNT; f++) {
		if (!key_rule_has(measurement->key_rule, f))
			continue;
		value[key_field_print(measurement->key_rule, &row->key, f, value)] = '\0';
		add_label(samples, key_fields[f].name, value);
	}
	text_str(samples->text, "} ");
}

static uint32_t rows_of(
	const struct metric_samples *samples, const struct report_measurement *measurement)
{
	return measurement->nb_rows < samples->view->top ? measurement->nb_rows
							 : samples->view->top;
}

typedef void row_function(struct metric_samples *samples,
	const struct report_measurement *measurement, const struct report_row *row);

static void each_row(struct metric_samples *samples, row_function *add)
{
	const struct report_epoch *last = samples->view->last;

	samples->row = 0;
	for (uint32_t m = 0; last != NULL && m < last->nb_measurements; m++) {
		const struct report_measurement *measurement = &last->measurements[m];

		for (uint32_t r = 0; r < rows_of(samples, measurement); r++, samples->row++)
			add(samples, measurement, &measurement->rows[r]);
	}
}

static uint32_t all_rows(const struct metric_samples *samples)
{
	const struct report_epoch *last = samples->view->last;
	uint32_t n = 0;

	for (uint32_t m = 0; last != NULL && m < last->nb_measurements; m++)
		n += rows_of(samples, &last->measurements[m]);
	return n;
}

static void make_labels_of_row(struct metric_samples *samples,
	const struct report_measurement *measurement, const struct report_row *row)
{
	add_row_labels(samples, measurement, row);
	samples->label_ends[samples->row + 1] = samples->labels.len;
}

/* Several samples of a row have the same labels. */
static void make_labels(struct metric_samples *samples)
{
	struct text *out = samples->text;

	samples->label_ends = calloc(all_rows(samples) + 1, sizeof(samples->label_ends[0]));
	if (samples->label_ends == NULL) {
		out->failed = true;
		return;
	}
	samples->text = &samples->labels;
	each_row(samples, make_labels_of_row);
	samples->text = out;
	out->failed |= samples->labels.failed;
}

static void add_value_of_row(struct metric_samples *samples,
	const struct report_measurement *measurement, const struct report_row *row)
{
	const struct metric *metric = samples->metric;
	const size_t *end = &samples->label_ends[samples->row];

	(void)measurement;
	VERIFY(end[0], <, end[1]);
	if (!has_value(metric, row, metric->at))
		return;
	begin_sample(samples);
	text_add(samples->text, samples->labels.data + end[0], end[1] - end[0]);
	text_u64(samples->text, *(const uint64_t *)at(row, metric->at));
	text_char(samples->text, '\n');
}

static void add_rows(struct metric_samples *samples)
{
	if (!samples->text->failed)
		each_row(samples, add_value_of_row);
}

#define AT(tag, member) .at = offsetof(struct tag, member)
#define WORD(tag, word, member)                                                                    \
	{                                                                                          \
		word, offsetof(struct tag, member)                                                 \
	}
#define ROW(member, is_known) AT(report_row, member), .known = offsetof(struct report_row, is_known)

#define LOAD_WORD(member)      WORD(metrics_worker, #member, member),
#define FORWARDED_WORD(member) WORD(forwarded_counts, #member, member),

static const struct metrics_word steps[] = {WORD(ledger, "receive", rx_ns),
	WORD(ledger, "count", ppt_ns), WORD(ledger, "free", free_ns), {0}};
static const struct metrics_word port_losses[] = {WORD(report_port, "nic_missed", nic_missed),
	WORD(report_port, "nic_errors", nic_errors), WORD(report_port, "no_mbuf", no_mbuf), {0}};
static const struct metrics_word forwarded_fates[] = {
	FORWARDED_WORD(received) FORWARDED_FATES(FORWARDED_WORD){0}};
static const struct metrics_word latencies[] = {WORD(report_forwarded, "50", p50_ns),
	WORD(report_forwarded, "99", p99_ns), WORD(report_forwarded, "99.9", p999_ns),
	WORD(report_forwarded, "100", max_ns), {0}};
static const struct metrics_word worker_fates[] = {LOAD_PACKETS(LOAD_WORD){0}};
static const struct metrics_word delivery_fates[] = {WORD(report_delivery, "delivered", delivered),
	WORD(report_delivery, "acknowledged", acknowledged),
	WORD(report_delivery, "failed", failed), WORD(report_delivery, "unknown", unknown),
	WORD(report_delivery, "dropped", dropped), {0}};

const struct metric metric_rows[] = {
	{"sketchtap_build", METRIC_INFO, "", "Versions of sketchtap and DPDK.", &of_build,
		.form = METRIC_ONE},
	{"sketchtap_start_time_seconds", METRIC_GAUGE, "seconds",
		"Start of the run, in seconds since 1970.", &of_run, METRIC_TIME,
		AT(metrics_view, started)},
	{"sketchtap_resident_memory_bytes", METRIC_GAUGE, "bytes",
		"Memory of the process without hugepages of DPDK.", &of_run, METRIC_U64_IF,
		AT(metrics_view, resident)},
	{"sketchtap_packets", METRIC_COUNTER, "packets",
		"Packets by ledger column; offered and received are sums of other columns.",
		&of_sums, METRIC_LEDGER_PACKETS, AT(metrics_sums, ledger)},
	{"sketchtap_bytes", METRIC_COUNTER, "bytes",
		"Wire bytes, without FCS, of measured and skipped packets.", &of_sums,
		METRIC_LEDGER_BYTES, AT(metrics_sums, ledger)},
	{"sketchtap_doubtful_packets", METRIC_COUNTER, "packets",
		"Packets that may have been lost in addition to those of the ledger.", &of_sums,
		METRIC_U64, AT(metrics_sums, ledger.doubtful)},
	{"sketchtap_losses_known", METRIC_GAUGE, "", "1 if all drivers count their losses, else 0.",
		&of_sums, METRIC_NOT, AT(metrics_sums, ledger.losses_unknown)},
	{"sketchtap_step_seconds", METRIC_COUNTER, "seconds",
		"Time of all workers by step: receive, count, free.", &of_sums, METRIC_NS,
		AT(metrics_sums, ledger), .words = steps, .label = "step"},
	{"sketchtap_expired_records", METRIC_COUNTER, "records",
		"Flow records that expired before the end of their interval.", &of_sums, METRIC_U64,
		AT(metrics_sums, expired)},
	{"sketchtap_epochs", METRIC_COUNTER, "epochs",
		"Ended intervals, including those without packets.", &of_sums, METRIC_U64,
		AT(metrics_sums, epochs)},
	{"sketchtap_late_epochs", METRIC_COUNTER, "epochs",
		"Live intervals that ended more than 1 ms late.", &of_sums, METRIC_U64,
		AT(metrics_sums, late)},
	{"sketchtap_closing_seconds", METRIC_COUNTER, "seconds",
		"Time to merge and rank intervals.", &of_sums, METRIC_NS,
		AT(metrics_sums, closing_ns)},
	{"sketchtap_epoch_number", METRIC_GAUGE, "", "Number of the last interval.", &of_epoch,
		METRIC_U64, AT(report_epoch, number)},
	{"sketchtap_epoch_start_timestamp_seconds", METRIC_GAUGE, "seconds",
		"Start of the last interval, since 1970, in packet time.", &of_epoch, METRIC_TIME,
		AT(report_epoch, start)},
	{"sketchtap_epoch_end_timestamp_seconds", METRIC_GAUGE, "seconds",
		"End of the last interval, since 1970, in packet time.", &of_epoch, METRIC_TIME,
		AT(report_epoch, end)},
	{"sketchtap_generated_epoch_seconds", METRIC_GAUGE, "seconds",
		"Processing time of the last interval, if its timestamps are generated.", &of_epoch,
		METRIC_NS_IF, AT(report_epoch, took)},
	{"sketchtap_port_up", METRIC_GAUGE, "", "1 if the port's link is up, else 0.", &of_port,
		METRIC_BOOL, AT(report_port, up)},
	{"sketchtap_port_speed_bytes_per_second", METRIC_GAUGE, "bytes_per_second",
		"Speed of the port's link, if the driver reports it.", &of_port, METRIC_U32_IF,
		AT(report_port, speed)},
	{"sketchtap_port_lost_packets", METRIC_COUNTER, "packets",
		"Packets that each port's driver counts as lost.", &of_port, METRIC_U64,
		.words = port_losses},
	{"sketchtap_forward_packets", METRIC_COUNTER, "packets",
		"Packets of each direction of --forward by fate.", &of_direction, METRIC_U64,
		AT(report_forwarded, so_far), .words = forwarded_fates},
	{"sketchtap_forward_bytes", METRIC_COUNTER, "bytes", "Bytes that the output port accepted.",
		&of_direction, METRIC_U64, AT(report_forwarded, so_far.bytes)},
	{"sketchtap_forward_latency_seconds", METRIC_GAUGE, "seconds",
		"Time from polling to sending a packet in the last interval; "
		"percentile 100: maximum.",
		&of_direction, METRIC_NS, .words = latencies, .label = "percentile",
		offsetof(struct report_forwarded, timed)},
	{"sketchtap_exporters", METRIC_GAUGE, "exporters",
		"Exporters in the last interval, one per domain.", &of_collector, METRIC_U64,
		AT(report_collected, nb_exporters)},
	{"sketchtap_exporter_datagrams", METRIC_COUNTER, "datagrams",
		"Datagrams of all exporters by fate; lost ones never arrived.", &of_collector_sums,
		METRIC_U64, AT(metrics_sums, exporters), .words = metrics_datagram_fates},
	{"sketchtap_exporter_records", METRIC_COUNTER, "records",
		"Records of all exporters by fate.", &of_collector_sums, METRIC_U64,
		AT(metrics_sums, exporters), .words = metrics_record_fates},
	{"sketchtap_exporter_unknown_sets", METRIC_COUNTER, "sets",
		"Data sets dropped because their template is unknown.", &of_collector_sums,
		METRIC_U64, AT(metrics_sums, exporters.unknown_template)},
	{"sketchtap_worker_packets", METRIC_COUNTER, "packets",
		"Packets of each worker: received, measured, ring_full, skipped.", &of_worker,
		METRIC_U64, .words = worker_fates},
	{"sketchtap_worker_bytes", METRIC_COUNTER, "bytes",
		"Bytes of packets that each worker measured.", &of_worker, METRIC_U64,
		AT(metrics_worker, bytes)},
	{"sketchtap_worker_busy_seconds", METRIC_COUNTER, "seconds",
		"Time of each worker to receive, count and free.", &of_worker, METRIC_NS,
		AT(metrics_worker, busy_ns)},
	{"sketchtap_measurement", METRIC_INFO, "", "Key, sketch and metric of each measurement.",
		&of_parameters, .form = METRIC_ONE},
	{"sketchtap_measurement_packets", METRIC_COUNTER, "packets",
		"Packets of each measurement by column of the ledger.", &of_summed,
		METRIC_LEDGER_PACKETS, AT(metrics_measurement, ledger)},
	{"sketchtap_measurement_bytes", METRIC_COUNTER, "bytes",
		"Bytes of packets that each measurement counted or skipped.", &of_summed,
		METRIC_LEDGER_BYTES, AT(metrics_measurement, ledger)},
	{"sketchtap_measurement_distinct_keys", METRIC_GAUGE, "keys",
		"Distinct keys of the last interval, estimated unless the sketch is exact.",
		&of_measurement, METRIC_U64, AT(report_measurement, distinct_keys)},
	{"sketchtap_measurement_rows", METRIC_GAUGE, "rows", "Heavy hitters of the last interval.",
		&of_measurement, METRIC_U32, AT(report_measurement, nb_rows)},
	{"sketchtap_measurement_confidence_ratio", METRIC_GAUGE, "ratio",
		"Probability that all bounds of the last interval hold.", &of_measurement,
		METRIC_DOUBLE, AT(report_measurement, confidence),
		.known = offsetof(struct report_measurement, confidence_known)},
	{"sketchtap_measurement_looked_at_ratio", METRIC_GAUGE, "ratio",
		"Share of the last interval's packets that were processed.", &of_measurement,
		METRIC_DOUBLE, AT(report_measurement, looked_at)},
	{"sketchtap_export_rows", METRIC_COUNTER, "rows",
		"Rows of each export by fate, up to the last interval.", &of_delivery,
		METRIC_SERIES, .words = delivery_fates},
	{"sketchtap_export_waiting_rows", METRIC_GAUGE, "rows", "Waiting rows of each export.",
		&of_delivery, METRIC_SERIES, AT(report_delivery, waiting)},
	{"sketchtap_export_spooled_rows", METRIC_GAUGE, "rows",
		"Waiting rows in each export's spool.", &of_delivery, METRIC_SERIES,
		AT(report_delivery, spooled)},
	{"sketchtap_export_spool_bytes", METRIC_GAUGE, "bytes",
		"Used bytes of each export's spool.", &of_spool, METRIC_SERIES,
		AT(report_delivery, spool_bytes)},
	{"sketchtap_export_spool_size_bytes", METRIC_GAUGE, "bytes",
		"Maximum bytes of each export's spool.", &of_spool, METRIC_SERIES,
		AT(report_delivery, spool_size)},
	{"sketchtap_export_retries", METRIC_COUNTER, "retries",
		"Intervals of each export that were sent again.", &of_delivery, METRIC_SERIES,
		AT(report_delivery, retries)},
	{"sketchtap_export_reconnects", METRIC_COUNTER, "reconnects",
		"Connections of each export after the first.", &of_delivery, METRIC_SERIES,
		AT(report_delivery, reconnects)},
	{"sketchtap_export_bytes", METRIC_COUNTER, "bytes",
		"Bytes that the receiver of each export accepted.", &of_delivery, METRIC_SERIES,
		AT(report_delivery, bytes)},
	{"sketchtap_top_packets", METRIC_GAUGE, "packets",
		"Packets of a heavy hitter in the last interval.", NULL, METRIC_U64,
		ROW(packets.value, packets.known)},
	{"sketchtap_top_low_packets", METRIC_GAUGE, "packets",
		"Lower bound of the packets of a heavy hitter.", NULL, METRIC_U64,
		ROW(packets.low, packets.known)},
	{"sketchtap_top_high_packets", METRIC_GAUGE, "packets",
		"Upper bound of the packets of a heavy hitter.", NULL, METRIC_U64,
		ROW(packets.high, packets.high_known)},
	{"sketchtap_top_bytes", METRIC_GAUGE, "bytes",
		"Bytes of a heavy hitter in the last interval.", NULL, METRIC_U64,
		ROW(bytes.value, bytes.known)},
	{"sketchtap_top_low_bytes", METRIC_GAUGE, "bytes",
		"Lower bound of the bytes of a heavy hitter.", NULL, METRIC_U64,
		ROW(bytes.low, bytes.known)},
	{"sketchtap_top_high_bytes", METRIC_GAUGE, "bytes",
		"Upper bound of the bytes of a heavy hitter.", NULL, METRIC_U64,
		ROW(bytes.high, bytes.high_known)},
	{0},
};

void metrics_text(struct text *text, const struct metrics_view *view, bool openmetrics)
{
	struct metric_samples samples = {.text = text, .view = view, .openmetrics = openmetrics};

	make_labels(&samples);
	for (const struct metric *metric = metric_rows; metric->name != NULL; metric++) {
		samples.metric = metric;
		samples.begun = false;
		if (metric->of != NULL)
			add_items(&samples);
		else
			add_rows(&samples);
	}
	if (openmetrics)
		text_str(text, "# EOF\n");
	text_free(&samples.labels);
	free(samples.label_ends);
}

/* One element of the Accept header: "TYPE; PARAMETER=VALUE". */
struct accepted {
	bool openmetrics, text;
	double quality;
};

static bool is_word(const char *at, size_t len, const char *word)
{
	return len == strlen(word) && strncasecmp(at, word, len) == 0;
}

/* Removes white space from both ends. Returns the new length. */
static size_t trim(const char **at, size_t len)
{
	for (; len > 0 && (**at == ' ' || **at == '\t'); len--)
		++*at;
	while (len > 0 && ((*at)[len - 1] == ' ' || (*at)[len - 1] == '\t'))
		len--;
	return len;
}

static void read_parameter(const char *at, size_t len, struct accepted *accepted)
{
	char number[8] = "";

	len = trim(&at, len);
	/* OpenMetrics is accepted only in this version */
	if (len > 8 && strncasecmp(at, "version=", 8) == 0)
		accepted->openmetrics &= is_word(at + 8, len - 8, "1.0.0");
	if (len <= 2 || strncasecmp(at, "q=", 2) != 0)
		return;
	memcpy(number, at + 2, len - 2 < sizeof(number) ? len - 2 : sizeof(number) - 1);
	accepted->quality = strtod(number, NULL);
}

static struct accepted read_part(const char *at, size_t len)
{
	const char *semicolon = memchr(at, ';', len), *end = at + len, *type = at;
	size_t type_len = trim(&type, semicolon != NULL ? (size_t)(semicolon - at) : len);
	struct accepted accepted = {.quality = 1};

	accepted.openmetrics = is_word(type, type_len, "application/openmetrics-text");
	accepted.text = is_word(type, type_len, "text/plain") ||
			is_word(type, type_len, "text/*") || is_word(type, type_len, "*/*");
	while (semicolon != NULL) {
		const char *parameter = semicolon + 1;

		semicolon = memchr(parameter, ';', (size_t)(end - parameter));
		read_parameter(parameter,
			(size_t)((semicolon != NULL ? semicolon : end) - parameter), &accepted);
	}
	return accepted;
}

bool metrics_wants_openmetrics(const char *accept)
{
	double openmetrics = 0, text = 0;

	while (accept != NULL && *accept != '\0') {
		size_t len = strcspn(accept, ",");
		struct accepted accepted = read_part(accept, len);

		if (accepted.openmetrics && accepted.quality > openmetrics)
			openmetrics = accepted.quality;
		if (accepted.text && accepted.quality > text)
			text = accepted.quality;
		accept += len + (accept[len] == ',');
	}
	return openmetrics > 0 && openmetrics >= text;
}
