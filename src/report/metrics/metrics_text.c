/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/metrics/metrics_text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/units.h"

struct metric_samples {
	struct text *text;
	const struct metrics_view *view;
	const struct metric *metric;
	bool openmetrics;
	bool begun; /* HELP and TYPE are written */
	char before_label;
	struct text labels; /* labels of all heavy hitters, concatenated */
	size_t *label_ends;
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

/* --- samples --- */

static void add_line(struct metric_samples *samples, const char *what, const char *value)
{
	const struct metric *metric = samples->metric;

	text_str(samples->text, "# ");
	text_str(samples->text, what);
	text_str(samples->text, metric->name);
	/* OpenMetrics describes the family, the older format each sample name. */
	text_str(samples->text, samples->openmetrics ? "" : metric_suffix(metric));
	text_char(samples->text, ' ');
	text_str(samples->text, value);
	text_char(samples->text, '\n');
}

/* Called for the first sample, so that a metric without samples is omitted. */
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

static uint64_t value_at(const void *of, const struct metrics_word *word)
{
	return *(const uint64_t *)((const char *)of + word->at);
}

#define EACH_WORD(word, words)                                                                     \
	for (const struct metrics_word *word = (words);                                            \
		word < (words) + sizeof(words) / sizeof((words)[0]); word++)

/* --- the run --- */

static void add_build(struct metric_samples *samples, const struct metric *metric)
{
	(void)metric;
	begin_sample(samples);
	add_label(samples, "version", samples->view->version);
	add_label(samples, "dpdk", samples->view->dpdk);
	end_sample(samples, 1);
}

static void add_start(struct metric_samples *samples, const struct metric *metric)
{
	(void)metric;
	begin_sample(samples);
	end_sample_ns(samples, (uint64_t)samples->view->started);
}

static void add_resident(struct metric_samples *samples, const struct metric *metric)
{
	(void)metric;
	if (samples->view->resident == 0)
		return;
	begin_sample(samples);
	end_sample(samples, samples->view->resident);
}

/* at: offset of a count or of ns in the sums. */
static uint64_t sum_at(const struct metric_samples *samples, const struct metric *metric)
{
	return *(const uint64_t *)((const char *)samples->view->sums + metric->at);
}

static void add_sum(struct metric_samples *samples, const struct metric *metric)
{
	begin_sample(samples);
	end_sample(samples, sum_at(samples, metric));
}

static void add_sum_of_ns(struct metric_samples *samples, const struct metric *metric)
{
	begin_sample(samples);
	end_sample_ns(samples, sum_at(samples, metric));
}

/* --- the ledger --- */

/* Returns the fate label of a column of bytes, or NULL for a column of packets. */
static const char *fate_of_bytes(uint32_t column)
{
	switch (ledger_columns[column].offset) {
	case offsetof(struct ledger, bytes): return "measured";
	case offsetof(struct ledger, skipped_bytes): return "skipped";
	default: return NULL;
	}
}

static void add_ledger(struct metric_samples *samples, const struct ledger *ledger, bool bytes,
	const char *measurement)
{
	for (uint32_t c = 0; c < LEDGER_COLUMNS; c++) {
		const char *of_bytes = fate_of_bytes(c);

		if (!ledger_has(ledger, c) || (of_bytes != NULL) != bytes)
			continue;
		begin_sample(samples);
		if (measurement != NULL)
			add_label(samples, "measurement", measurement);
		add_label(samples, "fate", bytes ? of_bytes : ledger_columns[c].name);
		end_sample(samples, ledger_column(ledger, c));
	}
}

static void add_packets(struct metric_samples *samples, const struct metric *metric)
{
	(void)metric;
	add_ledger(samples, &samples->view->sums->ledger, false, NULL);
}

static void add_bytes(struct metric_samples *samples, const struct metric *metric)
{
	(void)metric;
	add_ledger(samples, &samples->view->sums->ledger, true, NULL);
}

static void add_losses_known(struct metric_samples *samples, const struct metric *metric)
{
	(void)metric;
	begin_sample(samples);
	end_sample(samples, !samples->view->sums->ledger.losses_unknown);
}

static void add_steps(struct metric_samples *samples, const struct metric *metric)
{
	const struct ledger *ledger = &samples->view->sums->ledger;
	const struct {
		const char *word;
		uint64_t ns;
	} steps[] = {
		{"receive", ledger->rx_ns}, {"count", ledger->ppt_ns}, {"free", ledger->free_ns}};

	(void)metric;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		begin_sample(samples);
		add_label(samples, "step", steps[i].word);
		end_sample_ns(samples, steps[i].ns);
	}
}

/* --- the last epoch --- */

static void add_epoch_number(struct metric_samples *samples, const struct metric *metric)
{
	(void)metric;
	if (samples->view->last == NULL)
		return;
	begin_sample(samples);
	end_sample(samples, samples->view->last->number);
}

static void add_generated(struct metric_samples *samples, const struct metric *metric)
{
	const struct report_epoch *last = samples->view->last;

	(void)metric;
	if (last == NULL || last->took == 0)
		return;
	begin_sample(samples);
	end_sample_ns(samples, last->took);
}

/* at: offset of an int64_t in the epoch, ns since 1970-01-01 UTC. */
static void add_epoch_time(struct metric_samples *samples, const struct metric *metric)
{
	const struct report_epoch *last = samples->view->last;
	int64_t ns;

	if (last == NULL)
		return;
	ns = *(const int64_t *)((const char *)last + metric->at);
	begin_sample(samples);
	if (ns < 0) /* capture from before 1970 */
		end_sample_double(samples, (double)ns / SECOND_NS);
	else
		end_sample_ns(samples, (uint64_t)ns);
}

static void add_port_up(struct metric_samples *samples, const struct metric *metric)
{
	const struct report_epoch *last = samples->view->last;

	(void)metric;
	for (uint32_t p = 0; last != NULL && p < last->nb_ports; p++) {
		begin_sample(samples);
		add_label(samples, "port", last->ports[p].name);
		end_sample(samples, last->ports[p].up);
	}
}

static void add_port_speed(struct metric_samples *samples, const struct metric *metric)
{
	const struct report_epoch *last = samples->view->last;

	(void)metric;
	for (uint32_t p = 0; last != NULL && p < last->nb_ports; p++) {
		if (last->ports[p].speed == 0)
			continue;
		begin_sample(samples);
		add_label(samples, "port", last->ports[p].name);
		end_sample(samples, (uint64_t)last->ports[p].speed * 1000000 / 8);
	}
}

static void add_port_lost(struct metric_samples *samples, const struct metric *metric)
{
	static const struct metrics_word fates[] = {
		{"nic_missed", offsetof(struct report_port, nic_missed)},
		{"nic_errors", offsetof(struct report_port, nic_errors)},
		{"no_mbuf", offsetof(struct report_port, no_mbuf)},
	};
	const struct report_epoch *last = samples->view->last;

	(void)metric;
	for (uint32_t p = 0; last != NULL && p < last->nb_ports; p++)
		EACH_WORD(fate, fates)
		{
			begin_sample(samples);
			add_label(samples, "port", last->ports[p].name);
			add_label(samples, "fate", fate->word);
			end_sample(samples, value_at(&last->ports[p], fate));
		}
}

/* --- forwarding --- */

static void begin_direction(struct metric_samples *samples, const struct report_forwarded *row)
{
	begin_sample(samples);
	add_label(samples, "in", row->in);
	add_label(samples, "out", row->out);
}

#define EACH_DIRECTION(samples, row)                                                               \
	for (const struct report_forwarded *row = first_direction(samples);                        \
		row != end_of_directions(samples); row++)

static const struct report_forwarded *first_direction(const struct metric_samples *samples)
{
	return samples->view->last != NULL ? samples->view->last->forwarded : NULL;
}

static const struct report_forwarded *end_of_directions(const struct metric_samples *samples)
{
	const struct report_forwarded *first = first_direction(samples);

	return first != NULL ? first + samples->view->last->nb_forwarded : NULL;
}

#define FORWARDED_WORD(member) {#member, offsetof(struct forwarded_counts, member)},
static void add_forwarded(struct metric_samples *samples, const struct metric *metric)
{
	static const struct metrics_word fates[] = {
		FORWARDED_WORD(received) FORWARDED_FATES(FORWARDED_WORD)};

	(void)metric;
	EACH_DIRECTION(samples, row)
	EACH_WORD(fate, fates)
	{
		begin_direction(samples, row);
		add_label(samples, "fate", fate->word);
		end_sample(samples, value_at(&row->so_far, fate));
	}
}

static void add_forwarded_bytes(struct metric_samples *samples, const struct metric *metric)
{
	(void)metric;
	EACH_DIRECTION(samples, row)
	{
		begin_direction(samples, row);
		end_sample(samples, row->so_far.bytes);
	}
}

static void add_forwarded_latency(struct metric_samples *samples, const struct metric *metric)
{
	static const struct metrics_word percentiles[] = {
		{"50", offsetof(struct report_forwarded, p50_ns)},
		{"99", offsetof(struct report_forwarded, p99_ns)},
		{"99.9", offsetof(struct report_forwarded, p999_ns)},
		{"100", offsetof(struct report_forwarded, max_ns)},
	};

	(void)metric;
	EACH_DIRECTION(samples, row)
	EACH_WORD(percentile, percentiles)
	{
		if (!row->timed)
			continue;
		begin_direction(samples, row);
		add_label(samples, "percentile", percentile->word);
		end_sample_ns(samples, value_at(row, percentile));
	}
}

/* --- exporters --- */

static bool collects(const struct metric_samples *samples)
{
	return samples->view->last != NULL && samples->view->last->collected != NULL;
}

static void add_exporters(struct metric_samples *samples, const struct metric *metric)
{
	(void)metric;
	if (!collects(samples))
		return;
	begin_sample(samples);
	end_sample(samples, samples->view->last->collected->nb_exporters);
}

static void add_fates(struct metric_samples *samples, const struct metrics_word *fates, uint32_t n,
	const uint64_t *sums)
{
	for (uint32_t f = 0; collects(samples) && f < n; f++) {
		begin_sample(samples);
		add_label(samples, "fate", fates[f].word);
		end_sample(samples, sums[f]);
	}
}

static void add_datagrams(struct metric_samples *samples, const struct metric *metric)
{
	(void)metric;
	add_fates(samples, metrics_datagram_fates, METRICS_DATAGRAM_FATES,
		samples->view->sums->datagrams);
}

static void add_records(struct metric_samples *samples, const struct metric *metric)
{
	(void)metric;
	add_fates(
		samples, metrics_record_fates, METRICS_RECORD_FATES, samples->view->sums->records);
}

static void add_unknown_sets(struct metric_samples *samples, const struct metric *metric)
{
	if (collects(samples))
		add_sum(samples, metric);
}

/* --- workers --- */

static void begin_worker(struct metric_samples *samples, uint32_t worker)
{
	begin_sample(samples);
	add_number_label(samples, "worker", worker);
	add_number_label(samples, "lcore", samples->view->sums->workers[worker].lcore);
}

static void add_worker_packets(struct metric_samples *samples, const struct metric *metric)
{
	static const struct metrics_word fates[] = {
		{"received", offsetof(struct metrics_worker, received)},
		{"measured", offsetof(struct metrics_worker, measured)},
		{"ring_full", offsetof(struct metrics_worker, ring_full)},
		{"skipped", offsetof(struct metrics_worker, skipped)},
	};
	const struct metrics_sums *sums = samples->view->sums;

	(void)metric;
	for (uint32_t w = 0; w < sums->nb_workers; w++)
		EACH_WORD(fate, fates)
		{
			begin_worker(samples, w);
			add_label(samples, "fate", fate->word);
			end_sample(samples, value_at(&sums->workers[w], fate));
		}
}

static void add_worker_bytes(struct metric_samples *samples, const struct metric *metric)
{
	(void)metric;
	for (uint32_t w = 0; w < samples->view->sums->nb_workers; w++) {
		begin_worker(samples, w);
		end_sample(samples, samples->view->sums->workers[w].bytes);
	}
}

static void add_worker_busy(struct metric_samples *samples, const struct metric *metric)
{
	(void)metric;
	for (uint32_t w = 0; w < samples->view->sums->nb_workers; w++) {
		begin_worker(samples, w);
		end_sample_ns(samples, samples->view->sums->workers[w].busy_ns);
	}
}

/* --- measurements --- */

static void add_measured(struct metric_samples *samples, bool bytes)
{
	const struct metrics_sums *sums = samples->view->sums;

	for (uint32_t m = 0; m < sums->nb_measurements; m++)
		if (metrics_sums_show(sums, &sums->measurements[m]))
			add_ledger(samples, &sums->measurements[m].ledger, bytes,
				sums->measurements[m].name);
}

static void add_measurement_packets(struct metric_samples *samples, const struct metric *metric)
{
	(void)metric;
	add_measured(samples, false);
}

static void add_measurement_bytes(struct metric_samples *samples, const struct metric *metric)
{
	(void)metric;
	add_measured(samples, true);
}

static void begin_measurement(
	struct metric_samples *samples, const struct report_measurement *measurement)
{
	begin_sample(samples);
	add_label(samples, "measurement", measurement->name);
}

#define EACH_MEASUREMENT(samples, measurement)                                                     \
	for (const struct report_measurement *measurement = first_measurement(samples);            \
		measurement != end_of_measurements(samples); measurement++)

static const struct report_measurement *first_measurement(const struct metric_samples *samples)
{
	return samples->view->last != NULL ? samples->view->last->measurements : NULL;
}

static const struct report_measurement *end_of_measurements(const struct metric_samples *samples)
{
	const struct report_epoch *last = samples->view->last;

	return last != NULL ? last->measurements + last->nb_measurements : NULL;
}

static void add_measurement_info(struct metric_samples *samples, const struct metric *metric)
{
	(void)metric;
	EACH_MEASUREMENT(samples, measurement)
	{
		begin_measurement(samples, measurement);
		add_label(samples, "key", measurement->key_rule->name);
		add_label(samples, "sketch", measurement->sketch);
		add_label(samples, "count", measurement->counts_bytes ? "bytes" : "packets");
		end_sample(samples, 1);
	}
}

static void add_distinct(struct metric_samples *samples, const struct metric *metric)
{
	(void)metric;
	EACH_MEASUREMENT(samples, measurement)
	{
		begin_measurement(samples, measurement);
		end_sample(samples, measurement->distinct_keys);
	}
}

static void add_rows(struct metric_samples *samples, const struct metric *metric)
{
	(void)metric;
	EACH_MEASUREMENT(samples, measurement)
	{
		begin_measurement(samples, measurement);
		end_sample(samples, measurement->nb_rows);
	}
}

static void add_confidence(struct metric_samples *samples, const struct metric *metric)
{
	(void)metric;
	EACH_MEASUREMENT(samples, measurement)
	{
		if (!measurement->confidence_known)
			continue;
		begin_measurement(samples, measurement);
		end_sample_double(samples, measurement->confidence);
	}
}

static void add_looked_at(struct metric_samples *samples, const struct metric *metric)
{
	(void)metric;
	EACH_MEASUREMENT(samples, measurement)
	{
		begin_measurement(samples, measurement);
		end_sample_double(samples, measurement->looked_at);
	}
}

/* --- heavy hitters --- */

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

/* Builds the labels of each row once; several samples share them. */
static void make_labels(struct metric_samples *samples)
{
	struct text *out = samples->text;
	uint32_t n = 0;

	EACH_MEASUREMENT(samples, measurement)
	n += rows_of(samples, measurement);
	samples->label_ends = calloc(n + 1, sizeof(samples->label_ends[0]));
	if (samples->label_ends == NULL) {
		out->failed = true;
		return;
	}
	samples->text = &samples->labels;
	n = 0;
	EACH_MEASUREMENT(samples, measurement)
	for (uint32_t r = 0; r < rows_of(samples, measurement); r++) {
		add_row_labels(samples, measurement, &measurement->rows[r]);
		samples->label_ends[++n] = samples->labels.len;
	}
	samples->text = out;
	out->failed |= samples->labels.failed;
}

/* Stores the value of a metric for a row. Returns false if it is unknown. */
typedef bool (*row_figure)(
	const struct report_row *row, const struct metric *metric, uint64_t *value);

static void add_row_figures(
	struct metric_samples *samples, const struct metric *metric, row_figure figure)
{
	const size_t *end = samples->label_ends;
	uint64_t value;

	if (samples->text->failed)
		return;
	EACH_MEASUREMENT(samples, measurement)
	for (uint32_t r = 0; r < rows_of(samples, measurement); r++, end++) {
		if (!figure(&measurement->rows[r], metric, &value))
			continue;
		begin_sample(samples);
		text_add(samples->text, samples->labels.data + end[0], end[1] - end[0]);
		text_u64(samples->text, value);
		text_char(samples->text, '\n');
	}
}

/* at: offset of the figure in the row. */
static const struct report_figure *figure_of(
	const struct report_row *row, const struct metric *metric)
{
	return (const struct report_figure *)((const char *)row + metric->at);
}

static bool value_of(const struct report_row *row, const struct metric *metric, uint64_t *value)
{
	*value = figure_of(row, metric)->value;
	return figure_of(row, metric)->known;
}

static bool low_of(const struct report_row *row, const struct metric *metric, uint64_t *value)
{
	*value = figure_of(row, metric)->low;
	return figure_of(row, metric)->known;
}

static bool high_of(const struct report_row *row, const struct metric *metric, uint64_t *value)
{
	*value = figure_of(row, metric)->high;
	return figure_of(row, metric)->high_known;
}

static void add_top(struct metric_samples *samples, const struct metric *metric)
{
	add_row_figures(samples, metric, value_of);
}

static void add_top_low(struct metric_samples *samples, const struct metric *metric)
{
	add_row_figures(samples, metric, low_of);
}

static void add_top_high(struct metric_samples *samples, const struct metric *metric)
{
	add_row_figures(samples, metric, high_of);
}

/* --- deliveries --- */

/*
 * Returns true if both belong to one time series: a destination may be named twice, and long names
 * are truncated.
 */
static bool same_place(const struct report_delivery *a, const struct report_delivery *b)
{
	return strncmp(a->name, b->name, METRICS_LABEL_MAX) == 0 && strcmp(a->kind, b->kind) == 0;
}

static void add_place(struct metric_samples *samples, uint32_t d, const char *fate, size_t at)
{
	const struct report_epoch *told = samples->view->deliveries;
	const struct report_delivery *delivery = &told->deliveries[d];
	uint64_t sum = 0;

	for (uint32_t other = 0; other < told->nb_deliveries; other++) {
		if (!same_place(&told->deliveries[other], delivery))
			continue;
		if (other < d)
			return; /* included in the sum of that one */
		sum += *(const uint64_t *)((const char *)&told->deliveries[other] + at);
	}
	begin_sample(samples);
	add_label(samples, "export", delivery->name);
	add_label(samples, "kind", delivery->kind);
	if (fate != NULL)
		add_label(samples, "fate", fate);
	end_sample(samples, sum);
}

static void add_export(struct metric_samples *samples, const struct metric *metric)
{
	const struct report_epoch *told = samples->view->deliveries;

	for (uint32_t d = 0; told != NULL && d < told->nb_deliveries; d++)
		add_place(samples, d, NULL, metric->at);
}

static void add_spool(struct metric_samples *samples, const struct metric *metric)
{
	const struct report_epoch *told = samples->view->deliveries;

	for (uint32_t d = 0; told != NULL && d < told->nb_deliveries; d++)
		if (told->deliveries[d].spool_size > 0)
			add_place(samples, d, NULL, metric->at);
}

#define DELIVERY(member) offsetof(struct report_delivery, member)

static void add_export_rows(struct metric_samples *samples, const struct metric *metric)
{
	static const struct metrics_word fates[] = {
		{"delivered", DELIVERY(delivered)},
		{"acknowledged", DELIVERY(acknowledged)},
		{"failed", DELIVERY(failed)},
		{"unknown", DELIVERY(unknown)},
		{"dropped", DELIVERY(dropped)},
	};
	const struct report_epoch *told = samples->view->deliveries;

	(void)metric;
	for (uint32_t d = 0; told != NULL && d < told->nb_deliveries; d++)
		EACH_WORD(fate, fates)
	add_place(samples, d, fate->word, fate->at);
}

/* --- all metrics --- */

#define SUM(member)   .at = offsetof(struct metrics_sums, member)
#define EPOCH(member) .at = offsetof(struct report_epoch, member)
#define ROW(member)   .at = offsetof(struct report_row, member)

const struct metric metric_rows[] = {
	{"sketchtap_build", METRIC_INFO, "", "Version of sketchtap, and of DPDK.",
		.add = add_build},
	{"sketchtap_start_time_seconds", METRIC_GAUGE, "seconds", "When the run began, since 1970.",
		.add = add_start},
	{"sketchtap_resident_memory_bytes", METRIC_GAUGE, "bytes",
		"Memory of the process without hugepages of DPDK.", .add = add_resident},
	{"sketchtap_packets", METRIC_COUNTER, "packets",
		"Packets by column of the ledger. offered and received are sums of others.",
		.add = add_packets},
	{"sketchtap_bytes", METRIC_COUNTER, "bytes",
		"Bytes on the wire, without FCS, of packets that were measured or skipped.",
		.add = add_bytes},
	{"sketchtap_doubtful_packets", METRIC_COUNTER, "packets",
		"Packets that may have been lost in addition to those of the ledger.",
		.add = add_sum, SUM(ledger.doubtful)},
	{"sketchtap_losses_known", METRIC_GAUGE, "", "1 if all drivers count their losses, else 0.",
		.add = add_losses_known},
	{"sketchtap_step_seconds", METRIC_COUNTER, "seconds",
		"Time of all workers by step: receive, count, free.", .add = add_steps},
	{"sketchtap_expired_records", METRIC_COUNTER, "records",
		"Flow records that ended before their interval did.", .add = add_sum, SUM(expired)},
	{"sketchtap_epochs", METRIC_COUNTER, "epochs",
		"Intervals that ended, those without packets included.", .add = add_sum,
		SUM(epochs)},
	{"sketchtap_late_epochs", METRIC_COUNTER, "epochs",
		"Live intervals that ended more than 1 ms late.", .add = add_sum, SUM(late)},
	{"sketchtap_closing_seconds", METRIC_COUNTER, "seconds",
		"Time to merge and rank intervals.", .add = add_sum_of_ns, SUM(closing_ns)},
	{"sketchtap_epoch_number", METRIC_GAUGE, "", "Number of the last interval.",
		.add = add_epoch_number},
	{"sketchtap_epoch_start_timestamp_seconds", METRIC_GAUGE, "seconds",
		"Start of the last interval, since 1970, in packet time.", .add = add_epoch_time,
		EPOCH(start)},
	{"sketchtap_epoch_end_timestamp_seconds", METRIC_GAUGE, "seconds",
		"End of the last interval, since 1970, in packet time.", .add = add_epoch_time,
		EPOCH(end)},
	{"sketchtap_generated_epoch_seconds", METRIC_GAUGE, "seconds",
		"Processing time of the last interval, if its timestamps are generated.",
		.add = add_generated},
	{"sketchtap_port_up", METRIC_GAUGE, "", "1 if the port's link is up, else 0.",
		.add = add_port_up},
	{"sketchtap_port_speed_bytes_per_second", METRIC_GAUGE, "bytes_per_second",
		"Speed of the port's link, if the driver reports it.", .add = add_port_speed},
	{"sketchtap_port_lost_packets", METRIC_COUNTER, "packets",
		"Packets lost by each port's driver, as far as it counts them.",
		.add = add_port_lost},
	{"sketchtap_forward_packets", METRIC_COUNTER, "packets",
		"Packets of each direction of --forward by fate.", .add = add_forwarded},
	{"sketchtap_forward_bytes", METRIC_COUNTER, "bytes", "Bytes that the output port accepted.",
		.add = add_forwarded_bytes},
	{"sketchtap_forward_latency_seconds", METRIC_GAUGE, "seconds",
		"Time from polling to sending in the last interval; 100 is the maximum.",
		.add = add_forwarded_latency},
	{"sketchtap_exporters", METRIC_GAUGE, "exporters",
		"Exporters in the last interval, one per domain.", .add = add_exporters},
	{"sketchtap_exporter_datagrams", METRIC_COUNTER, "datagrams",
		"Datagrams of all exporters by fate; lost ones never arrived.",
		.add = add_datagrams},
	{"sketchtap_exporter_records", METRIC_COUNTER, "records",
		"Records of all exporters by fate.", .add = add_records},
	{"sketchtap_exporter_unknown_sets", METRIC_COUNTER, "sets",
		"Data sets dropped without a template.", .add = add_unknown_sets,
		SUM(unknown_template)},
	{"sketchtap_worker_packets", METRIC_COUNTER, "packets",
		"Packets of each worker: received, measured, ring_full, skipped.",
		.add = add_worker_packets},
	{"sketchtap_worker_bytes", METRIC_COUNTER, "bytes",
		"Bytes of packets that each worker measured.", .add = add_worker_bytes},
	{"sketchtap_worker_busy_seconds", METRIC_COUNTER, "seconds",
		"Time of each worker to receive, count and free.", .add = add_worker_busy},
	{"sketchtap_measurement", METRIC_INFO, "", "Key, sketch and metric of each measurement.",
		.add = add_measurement_info},
	{"sketchtap_measurement_packets", METRIC_COUNTER, "packets",
		"Packets of each measurement by column of the ledger.",
		.add = add_measurement_packets},
	{"sketchtap_measurement_bytes", METRIC_COUNTER, "bytes",
		"Bytes of packets that each measurement counted or skipped.",
		.add = add_measurement_bytes},
	{"sketchtap_measurement_distinct_keys", METRIC_GAUGE, "keys",
		"Distinct keys of the last interval, estimated unless the sketch is exact.",
		.add = add_distinct},
	{"sketchtap_measurement_rows", METRIC_GAUGE, "rows", "Heavy hitters of the last interval.",
		.add = add_rows},
	{"sketchtap_measurement_confidence_ratio", METRIC_GAUGE, "ratio",
		"Probability that all bounds of the last interval hold.", .add = add_confidence},
	{"sketchtap_measurement_looked_at_ratio", METRIC_GAUGE, "ratio",
		"Share of the last interval's packets that were sampled.", .add = add_looked_at},
	{"sketchtap_export_rows", METRIC_COUNTER, "rows",
		"Rows of each export by fate, up to the last interval.", .add = add_export_rows},
	{"sketchtap_export_waiting_rows", METRIC_GAUGE, "rows", "Waiting rows of each export.",
		.add = add_export, .at = DELIVERY(waiting)},
	{"sketchtap_export_spooled_rows", METRIC_GAUGE, "rows",
		"Waiting rows in each export's spool.", .add = add_export, .at = DELIVERY(spooled)},
	{"sketchtap_export_spool_bytes", METRIC_GAUGE, "bytes",
		"Used bytes of each export's spool.", .add = add_spool,
		.at = DELIVERY(spool_bytes)},
	{"sketchtap_export_spool_size_bytes", METRIC_GAUGE, "bytes",
		"Maximum bytes of each export's spool.", .add = add_spool,
		.at = DELIVERY(spool_size)},
	{"sketchtap_export_retries", METRIC_COUNTER, "retries",
		"Intervals of each export that were sent again.", .add = add_export,
		.at = DELIVERY(retries)},
	{"sketchtap_export_reconnects", METRIC_COUNTER, "reconnects",
		"Connections of each export after the first.", .add = add_export,
		.at = DELIVERY(reconnects)},
	{"sketchtap_export_bytes", METRIC_COUNTER, "bytes",
		"Bytes that the receiver of each export accepted.", .add = add_export,
		.at = DELIVERY(bytes)},
	{"sketchtap_top_packets", METRIC_GAUGE, "packets",
		"Packets of a heavy hitter in the last interval.", .add = add_top, ROW(packets)},
	{"sketchtap_top_low_packets", METRIC_GAUGE, "packets",
		"Lower bound of the packets of a heavy hitter.", .add = add_top_low, ROW(packets)},
	{"sketchtap_top_high_packets", METRIC_GAUGE, "packets",
		"Upper bound of the packets of a heavy hitter.", .add = add_top_high, ROW(packets)},
	{"sketchtap_top_bytes", METRIC_GAUGE, "bytes",
		"Bytes of a heavy hitter in the last interval.", .add = add_top, ROW(bytes)},
	{"sketchtap_top_low_bytes", METRIC_GAUGE, "bytes",
		"Lower bound of the bytes of a heavy hitter.", .add = add_top_low, ROW(bytes)},
	{"sketchtap_top_high_bytes", METRIC_GAUGE, "bytes",
		"Upper bound of the bytes of a heavy hitter.", .add = add_top_high, ROW(bytes)},
	{0},
};

void metrics_text(struct text *text, const struct metrics_view *view, bool openmetrics)
{
	struct metric_samples samples = {.text = text, .view = view, .openmetrics = openmetrics};

	make_labels(&samples);
	for (const struct metric *metric = metric_rows; metric->name != NULL; metric++) {
		samples.metric = metric;
		samples.begun = false;
		metric->add(&samples, metric);
	}
	if (openmetrics)
		text_str(text, "# EOF\n");
	text_free(&samples.labels);
	free(samples.label_ends);
}

/* --- Accept --- */

/* A parsed part "NAME ; PARAMETER=VALUE" of the list. */
struct accepted {
	bool openmetrics, text; /* accepted formats */
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
	if (len > 8 && strncasecmp(at, "version=", 8) == 0) /* only this version of OpenMetrics */
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
