/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/metrics/metrics.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "config/config.h"
#include "report/formats/format.h"
#include "report/formats/table.h"
#include "report/metrics/metrics_text.h"
#include "report/metrics/page.h"

#define STATUS_OK          200
#define STATUS_BAD_REQUEST 400
#define STATUS_UNAVAILABLE 503

static const char type_json[] = "application/json", type_text[] = "text/plain; charset=utf-8";

struct snapshot {
	struct metrics_sums sums;
	struct report_epoch *last; /* NULL: none yet */
	/* delivery counts since the start of the run; NULL: not enabled */
	struct report_epoch *deliveries;
	int64_t interval; /* ns of a live epoch; 0: no epoch is ever overdue */
	/* monotonic ns of the end of the last epoch, or of the start of the run */
	int64_t time;
};

struct metrics {
	/* Constant. */
	uint32_t top;
	const char *dpdk;
	int64_t started; /* ns since 1970-01-01 UTC */
	struct recent *recent;

	/*
	 * Owned by the producer. `now` has the current values, but no epochs. `back` is filled
	 * next.
	 */
	struct snapshot now, *back;

	/*
	 * Address of the published snapshot. The bit FRESH is set until the server thread takes it.
	 */
	_Atomic uintptr_t middle;

	/* Owned by the server thread, which reads it. */
	struct snapshot *front;
};

#define FRESH ((uintptr_t)1)

static void free_snapshot(struct snapshot *snapshot)
{
	if (snapshot == NULL)
		return;
	report_epoch_free(snapshot->last);
	report_epoch_free(snapshot->deliveries);
	free(snapshot);
}

struct metrics *metrics_create(uint32_t top, const char *dpdk, struct recent *recent)
{
	struct metrics *metrics = calloc(1, sizeof(*metrics));
	struct snapshot *middle;

	if (metrics == NULL)
		return NULL;
	metrics->top = top;
	metrics->dpdk = dpdk;
	metrics->recent = recent;
	metrics->started = clock_now(CLOCK_REALTIME);
	metrics->back = calloc(1, sizeof(*metrics->back));
	metrics->front = calloc(1, sizeof(*metrics->front));
	middle = calloc(1, sizeof(*middle));
	atomic_init(&metrics->middle, (uintptr_t)middle);
	if (metrics->back != NULL && metrics->front != NULL && middle != NULL)
		return metrics;
	metrics_destroy(metrics);
	return NULL;
}

static struct snapshot *snapshot_of(uintptr_t middle)
{
	return (struct snapshot *)(middle & ~FRESH);
}

void metrics_destroy(struct metrics *metrics)
{
	if (metrics == NULL)
		return;
	free_snapshot(metrics->back);
	free_snapshot(metrics->front);
	free_snapshot(snapshot_of(atomic_load_explicit(&metrics->middle, memory_order_acquire)));
	free(metrics);
}

static void copy_now(
	struct metrics *metrics, struct report_epoch *last, struct report_epoch *deliveries)
{
	const struct snapshot *now = &metrics->now;
	struct snapshot *back = metrics->back;

	report_epoch_free(back->last);
	back->last = last != NULL ? report_epoch_share(last) : NULL;
	report_epoch_free(back->deliveries);
	back->deliveries = deliveries;
	back->sums = now->sums;
	back->interval = now->interval;
	back->time = now->time;
}

static void publish(
	struct metrics *metrics, struct report_epoch *last, struct report_epoch *deliveries)
{
	metrics->now.time = clock_now(CLOCK_MONOTONIC);
	copy_now(metrics, last, deliveries);
	/*
	 * Pairs with the exchange in borrow_snapshot(): the server thread sees the contents of the
	 * snapshot, and this thread may overwrite the one that it gets back.
	 */
	metrics->back = snapshot_of(atomic_exchange_explicit(
		&metrics->middle, (uintptr_t)metrics->back | FRESH, memory_order_acq_rel));
}

void metrics_start(struct metrics *metrics, int64_t interval)
{
	metrics->now.interval = interval;
	publish(metrics, NULL, NULL);
}

void metrics_take(
	struct metrics *metrics, struct report_epoch *epoch, struct report_epoch *deliveries)
{
	metrics_sums_add(&metrics->now.sums, epoch);
	publish(metrics, epoch, deliveries);
}

static const struct snapshot *borrow_snapshot(struct metrics *metrics)
{
	if ((atomic_load_explicit(&metrics->middle, memory_order_relaxed) & FRESH) != 0)
		/* Pairs with the exchange in publish(). */
		metrics->front = snapshot_of(atomic_exchange_explicit(
			&metrics->middle, (uintptr_t)metrics->front, memory_order_acq_rel));
	return metrics->front;
}

static uint64_t resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long pages = 0;

	if (file == NULL)
		return 0;
	if (fscanf(file, "%*u %llu", &pages) != 1)
		pages = 0;
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void answer_page(void *arg, const struct http_request *request, struct http_answer *answer)
{
	(void)arg;
	(void)request;
	answer->type = "text/html; charset=utf-8";
	answer->policy = "default-src 'none'; connect-src 'self'; img-src data:; " PAGE_SOURCES
			 "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
	text_add(&answer->text, (const char *)page_html, sizeof(page_html));
}

static void answer_metrics(
	void *arg, const struct http_request *request, struct http_answer *answer)
{
	struct metrics *metrics = arg;
	const struct snapshot *snapshot = borrow_snapshot(metrics);
	const struct metrics_view view = {
		.sums = &snapshot->sums,
		.last = snapshot->last,
		.deliveries = snapshot->deliveries,
		.version = SKETCHTAP_VERSION,
		.dpdk = metrics->dpdk,
		.started = metrics->started,
		.resident = resident_bytes(),
		.top = metrics->top,
	};
	bool openmetrics = metrics_wants_openmetrics(request->accept);

	answer->type = openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
				   : "text/plain; version=0.0.4; charset=utf-8";
	metrics_text(&answer->text, &view, openmetrics);
}

bool metrics_healthy(struct metrics *metrics, int64_t now, int64_t *late)
{
	const struct snapshot *snapshot = borrow_snapshot(metrics);

	*late = now - snapshot->time - snapshot->interval;
	if (snapshot->interval == 0 || *late < METRICS_PATIENCE_NS)
		*late = 0;
	return *late == 0;
}

static void answer_health(void *arg, const struct http_request *request, struct http_answer *answer)
{
	int64_t late;
	bool healthy = metrics_healthy(arg, clock_now(CLOCK_MONOTONIC), &late);

	(void)request;
	answer->type = type_json;
	answer->status = healthy ? STATUS_OK : STATUS_UNAVAILABLE;
	text_printf(&answer->text, "{\"healthy\":%s,\"overdue_seconds\":%.3f}\n",
		healthy ? "true" : "false", (double)late / SECOND_NS);
}

struct metrics_rows {
	struct text *text;
	bool flows;              /* heavy hitters; each row also has its flow as text */
	struct columns *columns; /* NULL: not determined yet, or out of memory */
	bool some;
};

static void add_flow(struct text *text, const struct output_row *row)
{
	const struct report_row *hitter = row->item;
	struct text flow = {0};

	table_flow(&flow, row->measurement->key_rule, &hitter->key);
	text_str(text, ",\"flow\":\"");
	json_escape(text, flow.data, flow.len);
	text_char(text, '"');
	text->failed |= flow.failed;
	text_free(&flow);
}

static void add_row(struct metrics_rows *rows, const struct output_row *row)
{
	text_str(rows->text, rows->some ? ",\n" : "");
	format_json.row(rows->text, rows->columns, row);
	if (!rows->text->failed)
		rows->text->len -= strlen("}\n");
	if (rows->flows)
		add_flow(rows->text, row);
	text_char(rows->text, '}');
	rows->some = true;
}

static void add_rows(struct metrics_rows *rows, const struct output *output,
	const struct report_epoch *epoch, size_t rows_max)
{
	uint32_t parts = output->of_epoch ? 1 : epoch->nb_measurements;
	struct column_choice choice = column_choice_of(epoch);

	choice.named = choice.answer = true;
	free(rows->columns);
	rows->columns = columns_of(output, &choice);
	if (rows->columns == NULL) {
		rows->text->failed = true;
		return;
	}
	for (uint32_t m = 0; m < parts; m++) {
		struct output_row row = {.epoch = epoch, .measurement = &epoch->measurements[m]};
		struct output_items items = output->items(epoch, row.measurement);

		for (size_t i = 0; i < items.n && i < rows_max; i++) {
			row.item = (const char *)items.first + i * items.size;
			add_row(rows, &row);
		}
	}
}

/*
 * Stores the count (struct recent_span) of the first epoch after interval number `after`, or of the
 * oldest epoch if `after` is NULL. Returns false if `after` is not a number.
 */
static bool first_wanted(const struct metrics *metrics, const char *after, uint64_t *count)
{
	struct report_epoch *epoch;
	uint64_t number;
	char *end;

	*count = recent_span(metrics->recent).first;
	if (after == NULL)
		return true;
	errno = 0;
	number = strtoull(after, &end, 10);
	if (after[strspn(after, "0123456789")] != '\0' || end == after || errno != 0)
		return false;
	epoch = recent_find(metrics->recent, number < UINT64_MAX ? number + 1 : number, count);
	report_epoch_free(epoch);
	return true;
}

static void answer_epochs(void *arg, const struct http_request *request, struct http_answer *answer)
{
	const struct metrics *metrics = arg;
	struct metrics_rows rows = {.text = &answer->text};
	uint64_t first;

	if (!first_wanted(metrics, request->after, &first)) {
		answer->status = STATUS_BAD_REQUEST;
		answer->type = type_text;
		text_str(rows.text, "after=: not an interval number; example: after=17\n");
		return;
	}
	answer->type = type_json;
	text_str(rows.text, "[");
	for (uint64_t n = first; n < recent_span(metrics->recent).end; n++) {
		struct report_epoch *epoch = recent_get(metrics->recent, n);

		if (epoch != NULL)
			add_rows(&rows, &output_stats, epoch, SIZE_MAX);
		report_epoch_free(epoch);
	}
	text_str(rows.text, "]\n");
	free(rows.columns);
}

static void answer_rows(struct http_answer *answer, const struct output *output,
	const struct report_epoch *epoch, size_t rows_max)
{
	struct metrics_rows rows = {
		.text = &answer->text, .flows = output == &output_heavy_hitters};

	answer->type = type_json;
	text_str(rows.text, "[");
	if (epoch != NULL)
		add_rows(&rows, output, epoch, rows_max);
	text_str(rows.text, "]\n");
	free(rows.columns);
}

static void answer_top(void *arg, const struct http_request *request, struct http_answer *answer)
{
	(void)request;
	answer_rows(answer, &output_heavy_hitters, borrow_snapshot(arg)->last, METRICS_ROWS_MAX);
}

static void answer_deliveries(
	void *arg, const struct http_request *request, struct http_answer *answer)
{
	(void)request;
	answer_rows(answer, &output_deliveries, borrow_snapshot(arg)->deliveries, SIZE_MAX);
}

static void answer_ledger(void *arg, const struct http_request *request, struct http_answer *answer)
{
	static const char *const fates[] = {"none", "lost", "left_out", "skipped"};
	struct text *text = &answer->text;

	(void)arg;
	(void)request;
	answer->type = type_json;
	for (uint32_t c = 0; c < LEDGER_COLUMNS; c++) {
		const struct ledger_column *column = &ledger_columns[c];

		text_printf(text, "%s{\"column\":\"%s\",\"fate\":\"%s\",\"why\":\"",
			c > 0 ? ",\n" : "[", column->name, fates[column->fate]);
		if (column->why != NULL)
			json_escape(text, column->why, strlen(column->why));
		text_str(text, "\"}");
	}
	text_str(text, "]\n");
}

const struct http_page metrics_pages[] = {
	{"/", answer_page},
	{"/metrics", answer_metrics},
	{"/healthz", answer_health},
	{"/api/v1/epochs", answer_epochs},
	{"/api/v1/top", answer_top},
	{"/api/v1/deliveries", answer_deliveries},
	{"/api/v1/ledger", answer_ledger},
	{0},
};

/* A port without an address means 127.0.0.1. */
static bool parse_address(const char *text, struct listen_address *address, char *why)
{
	char local[LISTEN_TEXT_MAX];

	if (text[0] == '\0' || text[strspn(text, "0123456789")] != '\0')
		return listen_parse(text, address, why);
	snprintf(local, sizeof(local), "127.0.0.1:%.60s", text);
	return listen_parse(local, address, why);
}

bool metrics_address(const struct config *config, struct listen_address *address)
{
	char why[OPTION_WHY_MAX];

	return metrics_options(config)->address != NULL &&
	       parse_address(metrics_options(config)->address, address, why);
}

static bool check_metrics(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	const char *text = metrics_options(config)->address;
	struct listen_address address;
	char why[OPTION_WHY_MAX];

	(void)measurement;
	return text == NULL || parse_address(text, &address, why) ||
	       option_fault(fault, "metrics", NULL, "'%.60s': %.200s", text, why);
}

static const char *inapplicable_without_metrics(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return metrics_options(config)->address != NULL ? NULL : "without --metrics";
}

static const struct option_row metrics_rows[] = {
	{
		.name = "metrics",
		.placeholder = "ADDRESS:PORT",
		.rare = true,
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_STRING,
		OPTION_FIELD(metrics_options, address),
		.help = "Serve a web page (/), Prometheus metrics (/metrics), the state of the run "
			"(/healthz) and JSON over HTTP, without authentication. PORT: listen on "
			"127.0.0.1. :PORT: listen on all addresses.",
		.man = "docs/EXPORTS.md describes the paths, and how to add a password by a proxy.",
	},
	{
		.name = "metrics-top",
		.placeholder = "N",
		.rare = true,
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_COUNT,
		.inapplicable = inapplicable_without_metrics,
		OPTION_FIELD(metrics_options, top),
		.max = METRICS_TOP_MAX,
		.default_text = "0",
		.config_only = true,
		.help = "Add the first N heavy hitters of each measurement to /metrics, at most "
			"100. Each of them adds six time series.",
	},
	{0},
};

const struct option_owner metrics_owner = {
	.rows = metrics_rows,
	.size = sizeof(struct metrics_options),
	.check = check_metrics,
};
