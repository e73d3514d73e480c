/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/plot.h"

#include <errno.h>
#include <math.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/assertion.h"
#include "base/printable.h"
#include "base/regular_file.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/csv_replay.h"
#include "cli/error.h"
#include "cli/plot_network.h"
#include "report/formats/table.h"

#define EXIT_MACHINE 1
#define EXIT_TEXT    2

#define WIDTH  960
#define LEFT   84
#define RIGHT  940
#define HEIGHT 190
#define TITLE  34
#define AXIS   22
#define LINE   17
#define TICKS  4

static const char usage[] =
	"Usage: sketchtap plot FILE.csv... PICTURE.svg [--stats FILE.csv]... [--measurement NAME]\n"
	"       sketchtap plot FILE.csv... NETWORK.dot\n"
	"\n"
	"Draw a chart of a measurement (default: the first) from files of --output: the rates of\n"
	"its heaviest flows with their bounds, and their shares, stacked. With files of --stats,\n"
	"also draw losses. Give rotated files in the order of time. An existing chart is\n"
	"replaced.\n"
	"\n"
	"NETWORK.dot: write the links of --export neighbours as a graph for Graphviz: bytes from\n"
	"the left / from the right exporter. Links that are less sure than 0.75 are dashed.\n"
	"\n"
	"Exit status: 0; 1: a file cannot be read or written; 2: usage error, or malformed file.\n";

/* A step of the time axis sums the values and bounds of successive epochs. */
#define SERIES_FLOWS 8
#define SERIES_STEPS 600

struct series_figure {
	double value, low, high;
	double total;
	uint64_t epochs;
	bool high_known; /* every row had an upper bound */
};

struct series_step {
	int64_t start, end; /* ns since 1970-01-01 UTC */
	double seconds;     /* sum of the durations of its epochs */
	uint64_t epochs;
	struct series_figure flows[SERIES_FLOWS];
	uint64_t lost[LEDGER_COLUMNS]; /* lost packets per ledger column */
};

struct series {
	char *measurement;
	bool bytes; /* metric; false: packets */
	bool others;
	bool cut; /* the last line of a file had no line end */
	bool told_losses;
	uint64_t epochs, without_ledger;
	uint32_t nb_flows;
	char *flows[SERIES_FLOWS];
	uint32_t nb_steps;
	struct series_step *steps;
};

/* Colors that color-blind readers can distinguish. */
static const char *const colours[SERIES_FLOWS] = {
	"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d1f", "#5f5f5f"};

struct panel {
	struct text *text;
	const struct series *series;
	double top, highest;
	double from, to; /* seconds since 1970; all panels have the same range */
};

struct series_sum {
	double value;
	char flow[];
};

struct series_scan {
	void *sums;
	struct series_sum *heaviest[SERIES_FLOWS];
	uint32_t nb_heaviest;
	uint64_t epochs;
	uint32_t of_bytes, of_packets;
	bool failed;
};

static struct series_scan *walked; /* argument of twalk()'s callback */

static double counted(const struct epoch_view_row *row, bool bytes)
{
	return (double)(bytes ? row->values.bytes : row->values.packets).value;
}

static int compare_sums(const void *a, const void *b)
{
	return strcmp(((const struct series_sum *)a)->flow, ((const struct series_sum *)b)->flow);
}

static struct series_sum *make_sum(const char *flow)
{
	struct series_sum *sum = calloc(1, sizeof(*sum) + strlen(flow) + 1);

	if (sum != NULL)
		strcpy(sum->flow, flow);
	return sum;
}

static void add_row(struct series_scan *scan, const struct epoch_view_row *row, bool bytes)
{
	struct series_sum *sum = make_sum(row->flow);
	struct series_sum **found = sum != NULL ? tsearch(sum, &scan->sums, compare_sums) : NULL;

	if (found == NULL) {
		free(sum);
		scan->failed = true;
		return;
	}
	if (*found != sum)
		free(sum);
	(*found)->value += counted(row, bytes);
}

static void keep_heavy(const void *node, VISIT which, int depth)
{
	struct series_sum *sum = *(struct series_sum *const *)node;
	uint32_t at;

	(void)depth;
	if (which != postorder && which != leaf)
		return;
	VERIFY(walked->nb_heaviest, <=, (uint32_t)SERIES_FLOWS);
	at = walked->nb_heaviest;
	while (at > 0 && walked->heaviest[at - 1]->value < sum->value)
		at--;
	if (at == SERIES_FLOWS)
		return;
	if (walked->nb_heaviest < SERIES_FLOWS)
		walked->nb_heaviest++;
	memmove(&walked->heaviest[at + 1], &walked->heaviest[at],
		(walked->nb_heaviest - at - 1) * sizeof(walked->heaviest[0]));
	walked->heaviest[at] = sum;
}

static struct epoch_view_measurement *chosen(struct series *series, const struct epoch_view *epoch)
{
	if (series->measurement == NULL && epoch->nb_measurements > 0)
		series->measurement = strdup(epoch->measurements[0].values.name);
	if (series->measurement == NULL)
		return NULL;
	for (uint32_t m = 0; m < epoch->nb_measurements; m++)
		series->others |=
			strcmp(epoch->measurements[m].values.name, series->measurement) != 0;
	return epoch_view_find(epoch, series->measurement);
}

static void scan_epoch(
	struct series *series, struct series_scan *scan, const struct epoch_view *epoch)
{
	const struct epoch_view_measurement *measurement = chosen(series, epoch);

	if (measurement == NULL)
		return;
	scan->epochs++;
	if (measurement->nb_rows > 1)
		*(measurement->values.counts_bytes ? &scan->of_bytes : &scan->of_packets) += 1;
	for (uint32_t r = 0; r < measurement->nb_rows; r++)
		add_row(scan, &measurement->rows[r], measurement->values.counts_bytes);
}

static void add_figure(struct series_figure *sum, const struct report_figure *figure)
{
	if (!figure->known)
		return;
	sum->high_known = (sum->high_known || sum->epochs == 0) && figure->high_known;
	sum->epochs++;
	sum->value += (double)figure->value;
	sum->low += (double)figure->low;
	sum->high += (double)figure->high;
}

/* Computes the sum of all flows from the packets or bytes and the share of the first row. */
static double total_of(const struct epoch_view_measurement *measurement, bool bytes)
{
	const struct epoch_view_row *row = measurement->rows;

	return measurement->nb_rows > 0 && row->values.share > 0
		       ? counted(row, bytes) / row->values.share
		       : 0;
}

static void take_flows(const struct series *series, struct series_step *step,
	const struct epoch_view_measurement *measurement)
{
	double total = total_of(measurement, series->bytes);

	for (uint32_t f = 0; f < series->nb_flows; f++)
		step->flows[f].total += total;
	for (uint32_t r = 0; r < measurement->nb_rows; r++) {
		const struct epoch_view_row *row = &measurement->rows[r];

		for (uint32_t f = 0; f < series->nb_flows; f++)
			if (strcmp(series->flows[f], row->flow) == 0)
				add_figure(&step->flows[f],
					series->bytes ? &row->values.bytes : &row->values.packets);
	}
}

static void take_epoch(
	struct series *series, const struct series_scan *scan, const struct epoch_view *epoch)
{
	const struct epoch_view_measurement *measurement = chosen(series, epoch);
	uint64_t each = (scan->epochs + SERIES_STEPS - 1) / SERIES_STEPS;
	struct series_step *step;

	if (measurement == NULL)
		return;
	step = &series->steps[series->nb_steps > 0 ? series->nb_steps - 1 : 0];
	if (series->nb_steps == 0 || step->epochs == each) {
		/* The files grew after they were first read. */
		if (series->nb_steps == SERIES_STEPS)
			return;
		step = &series->steps[series->nb_steps++];
		step->start = epoch->start;
	}
	VERIFY(series->nb_steps, <=, (uint32_t)SERIES_STEPS);
	step->epochs++;
	step->end = epoch->end;
	step->seconds += (double)epoch_view_duration(epoch) / SECOND_NS;
	take_flows(series, step, measurement);
	series->told_losses |= epoch->has_ledger;
	series->without_ledger += !epoch->has_ledger;
	series->epochs++;
	for (uint32_t c = 0; c < LEDGER_COLUMNS; c++)
		if (ledger_columns[c].fate == LEDGER_LOST)
			step->lost[c] += ledger_column(&measurement->ledger, c);
}

/* Reads all files: first to fill `scan`, then to fill series->steps. */
static bool read_all(struct series *series, struct series_scan *scan,
	const struct csv_replay_files *outputs, const struct csv_replay_files *stats, char *error,
	int *status)
{
	struct csv_replay *replay = csv_replay_open(outputs, stats, error, status);
	struct epoch_view *epoch;
	const char *line;

	if (replay == NULL)
		return false;
	while ((epoch = csv_replay_next(replay)) != NULL) {
		if (series->steps == NULL)
			scan_epoch(series, scan, epoch);
		else
			take_epoch(series, scan, epoch);
		epoch_view_free(epoch);
	}
	*status = csv_replay_status(replay, &line);
	if (*status != 0)
		snprintf(error, CSV_REPLAY_ERROR_MAX, "%s", line);
	series->cut = csv_replay_cut(replay);
	csv_replay_close(replay);
	return *status == 0;
}

static bool choose_epochs(struct series *series, struct series_scan *scan)
{
	series->bytes = scan->of_bytes > scan->of_packets;
	walked = scan;
	twalk(scan->sums, keep_heavy);
	for (; series->nb_flows < scan->nb_heaviest; series->nb_flows++) {
		series->flows[series->nb_flows] = strdup(scan->heaviest[series->nb_flows]->flow);
		if (series->flows[series->nb_flows] == NULL)
			return false;
	}
	series->steps = calloc(SERIES_STEPS, sizeof(series->steps[0]));
	return series->steps != NULL && !scan->failed;
}

static bool fail(char *error, int *status, int exit, const char *what, const char *name)
{
	snprintf(error, CSV_REPLAY_ERROR_MAX, "%s%.100s", what, name);
	*status = exit;
	return false;
}

static bool fill(struct series *series, struct series_scan *scan,
	const struct csv_replay_files *outputs, const struct csv_replay_files *stats, char *error,
	int *status)
{
	const char *path = outputs->paths[0];

	if (!read_all(series, scan, outputs, stats, error, status))
		return false;
	if (scan->epochs == 0)
		return series->measurement != NULL
			       ? fail(error, status, EXIT_TEXT,
					 "no file has rows of the measurement ",
					 series->measurement)
			       : fail(error, status, EXIT_TEXT, "no rows in ", path);
	if (!choose_epochs(series, scan))
		return fail(error, status, EXIT_MACHINE, "out of memory", "");
	return read_all(series, scan, outputs, stats, error, status);
}

static void series_free(struct series *series)
{
	if (series == NULL)
		return;
	for (uint32_t f = 0; f < series->nb_flows; f++)
		free(series->flows[f]);
	free(series->measurement);
	free(series->steps);
	free(series);
}

/*
 * measurement: NULL for the first in the files. On failure, returns NULL with a line in
 * error[CSV_REPLAY_ERROR_MAX] and the exit status in *status.
 */
static struct series *series_read(const struct csv_replay_files *outputs,
	const struct csv_replay_files *stats, const char *measurement, char *error, int *status)
{
	struct series *series = calloc(1, sizeof(*series));
	struct series_scan scan = {0};
	bool filled = false;

	if (series != NULL && measurement != NULL)
		series->measurement = strdup(measurement);
	if (series == NULL || (measurement != NULL && series->measurement == NULL))
		fail(error, status, EXIT_MACHINE, "out of memory", "");
	else
		filled = fill(series, &scan, outputs, stats, error, status);
	tdestroy(scan.sums, free);
	if (filled)
		return series;
	series_free(series);
	return NULL;
}

static void add_escaped(struct text *text, const char *string)
{
	size_t left = strlen(string), len;

	for (; left > 0; string += len, left -= len) {
		len = text_character_len(string, left);
		if (len == 0 || (unsigned char)*string < ' ') {
			text_str(text, "\xef\xbf\xbd");
			len = 1;
		} else if (strchr("<>&\"'", *string) != NULL) {
			text_printf(text, "&#%d;", *string);
		} else {
			text_add(text, string, len);
		}
	}
}

static double seconds_of(const struct panel *panel, int64_t ns)
{
	return (double)(ns - panel->series->steps[0].start) / SECOND_NS;
}

static double x_of(const struct panel *panel, int64_t ns)
{
	return LEFT +
	       (seconds_of(panel, ns) - panel->from) / (panel->to - panel->from) * (RIGHT - LEFT);
}

static double y_of(const struct panel *panel, double value)
{
	return panel->top + HEIGHT - fmin(value / panel->highest, 1) * HEIGHT;
}

static double rate(const struct series *series, const struct series_step *step, double amount)
{
	double factor = series->bytes ? 8 : 1;

	return step->seconds > 0 ? amount * factor / step->seconds : amount;
}

static double per_second(const struct series_step *step, double packets)
{
	return step->seconds > 0 ? packets / step->seconds : packets;
}

/* Returns the smallest of 1, 2, 5, 10, ... that divides `span` into at most `most` steps. */
static double nice_step(double span, double most)
{
	double least = span / most, power = pow(10, floor(log10(least)));

	for (double times = 1; times < 10; times = times == 2 ? 5 : times * 2)
		if (times * power >= least * 0.999)
			return times * power;
	return 10 * power;
}

static void add_value(struct text *text, double value, const char *unit)
{
	if (unit[0] == '%')
		text_printf(text, "%.0f %%", value * 100);
	else if (value >= 1 || value == 0)
		table_human(text, (uint64_t)(value + 0.5));
	else
		text_printf(text, "%.2g", value);
	if (unit[0] != '%' && value > 0)
		text_str(text, unit);
}

static void begin_panel(struct panel *panel, const char *title, const char *unit, double largest)
{
	struct text *text = panel->text;
	double step = nice_step(largest > 0 ? largest : 1, TICKS);

	panel->highest = ceil((largest > 0 ? largest : 1) / step - 1e-9) * step;
	text_printf(text, "<text x=\"%d\" y=\"%.0f\" class=\"title\">", LEFT, panel->top - 10);
	add_escaped(text, title);
	text_str(text, "</text>\n");
	for (double value = 0; value <= panel->highest * 1.0001; value += step) {
		double y = y_of(panel, value);

		text_printf(text,
			"<path class=\"grid\" d=\"M%d %.1fH%d\"/>"
			"<text x=\"%d\" y=\"%.1f\" class=\"end\">",
			LEFT, y, RIGHT, LEFT - 8, y + 4);
		add_value(text, value, unit);
		text_str(text, "</text>\n");
	}
}

/* step: seconds between two labels. From 60 s on, a label also has the day. */
static void add_time(struct text *text, int64_t ns, double step)
{
	time_t at = (time_t)(ns / SECOND_NS);
	struct tm tm = {0};

	gmtime_r(&at, &tm);
	if (step >= 60)
		text_printf(text, "%02d-%02d ", tm.tm_mon + 1, tm.tm_mday);
	text_printf(text, "%02d:%02d", tm.tm_hour, tm.tm_min);
	if (step < 60)
		text_printf(text, ":%02d", tm.tm_sec);
	if (step < 1e-3)
		text_printf(text, ".%06d", (int)(ns % SECOND_NS / 1000));
	else if (step < 1)
		text_printf(text, ".%03d", (int)(ns % SECOND_NS / 1000000));
}

static void draw_times(const struct panel *panel)
{
	static const double steps[] = {1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600,
		7200, 14400, 21600, 43200, 86400};
	double least = (panel->to - panel->from) / 9;
	double step =
		least < 1 ? nice_step(panel->to - panel->from, 9) : 86400 * ceil(least / 86400);
	int64_t start = panel->series->steps[0].start, each;

	for (size_t s = 0; least >= 1 && s < sizeof(steps) / sizeof(steps[0]); s++)
		if (steps[s] >= least) {
			step = steps[s];
			break;
		}
	each = (int64_t)(step * SECOND_NS);
	if (each <= 0)
		return;
	for (int64_t at = start - start % each; seconds_of(panel, at) <= panel->to; at += each) {
		double x = x_of(panel, at);

		if (at < start || x < LEFT + 20 || x > RIGHT - 20)
			continue;
		text_printf(panel->text, "<text x=\"%.1f\" y=\"%.0f\" class=\"middle\">", x,
			panel->top + HEIGHT + 16);
		add_time(panel->text, at, step);
		text_str(panel->text, "</text>\n");
	}
}

/* A flow without a row in one of the step's epochs has no upper bound. */
static bool has_high(const struct series_step *step, uint32_t flow)
{
	return step->flows[flow].high_known && step->flows[flow].epochs == step->epochs;
}

static double high_of(const struct series_step *step, uint32_t flow)
{
	return has_high(step, flow) ? step->flows[flow].high : step->flows[flow].value;
}

static double largest_rate(const struct series *series)
{
	double largest = 0;

	for (uint32_t s = 0; s < series->nb_steps; s++)
		for (uint32_t f = 0; f < series->nb_flows; f++)
			largest = fmax(largest,
				rate(series, &series->steps[s], high_of(&series->steps[s], f)));
	return largest;
}

static void draw_intervals(const struct panel *panel, uint32_t flow)
{
	struct text *text = panel->text;

	text_printf(text, "<path class=\"interval\" fill=\"%s\" d=\"", colours[flow]);
	for (uint32_t s = 0; s < panel->series->nb_steps; s++) {
		const struct series_step *step = &panel->series->steps[s];
		const struct series_figure *figure = &step->flows[flow];
		double high = high_of(step, flow);

		if (high > figure->low)
			text_printf(text, "M%.1f %.1fH%.1fV%.1fH%.1fZ", x_of(panel, step->start),
				y_of(panel, rate(panel->series, step, figure->low)),
				x_of(panel, step->end),
				y_of(panel, rate(panel->series, step, high)),
				x_of(panel, step->start));
	}
	text_str(text, "\"/>\n");
}

/*
 * Draws solid lines through steps with an upper bound (bounded), or dashed lines through the
 * others.
 */
static void draw_line(const struct panel *panel, uint32_t flow, bool bounded)
{
	struct text *text = panel->text;
	int64_t end = INT64_MIN;

	text_printf(text, "<path class=\"line%s\" stroke=\"%s\" d=\"", bounded ? "" : " open",
		colours[flow]);
	for (uint32_t s = 0; s < panel->series->nb_steps; s++) {
		const struct series_step *step = &panel->series->steps[s];
		double y = y_of(panel, rate(panel->series, step, step->flows[flow].value));

		if (step->flows[flow].epochs == 0 || has_high(step, flow) != bounded)
			continue;
		if (step->start == end)
			text_printf(text, "V%.1f", y);
		else
			text_printf(text, "M%.1f %.1f", x_of(panel, step->start), y);
		text_printf(text, "H%.1f", x_of(panel, step->end));
		end = step->end;
	}
	text_str(text, "\"><title>");
	add_escaped(text, panel->series->flows[flow]);
	text_str(text, "</title></path>\n");
}

static bool any_unbounded(const struct series *series)
{
	for (uint32_t s = 0; s < series->nb_steps; s++)
		for (uint32_t f = 0; f < series->nb_flows; f++)
			if (series->steps[s].flows[f].epochs > 0 && !has_high(&series->steps[s], f))
				return true;
	return false;
}

static void draw_rates(struct panel *panel)
{
	const struct series *series = panel->series;
	bool rates = series->steps[0].seconds > 0, open = any_unbounded(series);
	struct text title = {0};

	text_printf(&title, "%s: the heaviest flows by %s, with their bounds%s",
		series->measurement, series->bytes ? "bytes" : "packets",
		open ? "; dashed: no upper bound" : "");
	text_char(&title, '\0');
	panel->text->failed |= title.failed;
	begin_panel(panel, title.failed ? "" : title.data,
		rates ? (series->bytes ? "bit/s" : "pps") : "", largest_rate(series));
	text_free(&title);
	for (uint32_t f = series->nb_flows; f-- > 0;)
		draw_intervals(panel, f);
	for (uint32_t f = series->nb_flows; f-- > 0;) {
		draw_line(panel, f, true);
		if (open)
			draw_line(panel, f, false);
	}
}

static void draw_piled(const struct panel *panel, const struct series_step *step, double from,
	double to, const char *colour)
{
	double x = x_of(panel, step->start);

	if (to > from)
		text_printf(panel->text,
			"<rect x=\"%.1f\" width=\"%.1f\" y=\"%.2f\" height=\"%.2f\" fill=\"%s\"/>\n",
			x, fmax(x_of(panel, step->end) - x, 0.5), y_of(panel, to),
			y_of(panel, from) - y_of(panel, to), colour);
}

static void draw_shares(struct panel *panel)
{
	begin_panel(panel, "Shares of the measured traffic, stacked; on top: all others", "%", 1);
	for (uint32_t s = 0; s < panel->series->nb_steps; s++) {
		const struct series_step *step = &panel->series->steps[s];
		double pile = 0;

		for (uint32_t f = 0; f < panel->series->nb_flows; f++) {
			const struct series_figure *figure = &step->flows[f];
			double share = figure->total > 0 ? figure->value / figure->total : 0;

			draw_piled(panel, step, pile, pile + share, colours[f]);
			pile += share;
		}
	}
}

static uint64_t lost_of(const struct series_step *step)
{
	uint64_t lost = 0;

	for (uint32_t c = 0; c < LEDGER_COLUMNS; c++)
		lost += step->lost[c];
	return lost;
}

static void add_losses(struct text *text, const struct series *series)
{
	const char *before = "Lost: ";

	for (uint32_t c = 0; c < LEDGER_COLUMNS; c++) {
		uint64_t lost = 0;

		for (uint32_t s = 0; s < series->nb_steps; s++)
			lost += series->steps[s].lost[c];
		if (lost == 0)
			continue;
		text_str(text, before);
		text_grouped(text, lost);
		text_printf(text, " %s", ledger_columns[c].name);
		before = ", ";
	}
	if (text->len == 0)
		text_str(text, "Lost: nothing");
	if (series->without_ledger > 0)
		text_printf(text, "; unknown for %llu of %llu intervals",
			(unsigned long long)series->without_ledger,
			(unsigned long long)series->epochs);
	text_char(text, '\0');
}

static void draw_losses(struct panel *panel)
{
	struct text title = {0};
	double largest = 0;

	for (uint32_t s = 0; s < panel->series->nb_steps; s++) {
		const struct series_step *step = &panel->series->steps[s];

		largest = fmax(largest, per_second(step, (double)lost_of(step)));
	}
	add_losses(&title, panel->series);
	panel->text->failed |= title.failed;
	begin_panel(panel, title.failed ? "" : title.data,
		panel->series->steps[0].seconds > 0 ? "pps" : "", largest);
	text_free(&title);
	for (uint32_t s = 0; s < panel->series->nb_steps; s++) {
		const struct series_step *step = &panel->series->steps[s];

		draw_piled(panel, step, 0, per_second(step, (double)lost_of(step)), "#c62828");
	}
}

static void draw_names(struct text *text, const struct series *series, double top)
{
	for (uint32_t f = 0; f < series->nb_flows; f++) {
		double y = top + LINE * f;

		text_printf(text,
			"<rect x=\"%d\" y=\"%.0f\" width=\"11\" height=\"11\" fill=\"%s\"/>"
			"<text x=\"%d\" y=\"%.0f\" class=\"flow\">",
			LEFT, y, colours[f], LEFT + 18, y + 10);
		add_escaped(text, series->flows[f]);
		text_str(text, "</text>\n");
	}
}

static void draw(struct text *text, const struct series *series)
{
	const struct series_step *last = &series->steps[series->nb_steps - 1];
	struct panel panel = {.text = text, .series = series, .top = TITLE};
	uint32_t nb_panels = series->told_losses ? 3 : 2;
	double names = TITLE + HEIGHT + 10, below = names + LINE * series->nb_flows;
	double height = below + (nb_panels - 1) * (TITLE + HEIGHT) + AXIS + 8;

	panel.to = fmax(seconds_of(&panel, last->end), 1e-6);
	text_printf(text,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
		"viewBox=\"0 0 %d %.0f\" font-family=\"DejaVu Sans, Verdana, sans-serif\" "
		"font-size=\"11\" fill=\"#333\">\n"
		"<style>.title{font-size:13px;font-weight:bold;fill:#111}.grid{stroke:#ddd}"
		".end{text-anchor:end}.middle{text-anchor:middle}"
		".flow{font-family:DejaVu Sans Mono,monospace}"
		"rect{shape-rendering:crispEdges}.line{fill:none;stroke-width:1.5}"
		".open{stroke-dasharray:4 3}.interval{fill-opacity:.22}</style>\n"
		"<rect width=\"%d\" height=\"%.0f\" fill=\"#fff\"/>\n",
		WIDTH, height, WIDTH, height, WIDTH, height);
	draw_rates(&panel);
	draw_names(text, series, names);
	panel.top = below + TITLE;
	draw_shares(&panel);
	if (series->told_losses) {
		panel.top += HEIGHT + TITLE;
		draw_losses(&panel);
	}
	draw_times(&panel);
	text_str(text, "</svg>\n");
}

static int write_picture(const char *path, const struct text *text)
{
	FILE *file;
	bool written;
	int fd, error;

	if (text->failed)
		return cli_error(EXIT_MACHINE, "plot: out of memory");
	fd = regular_file_create(path, true);
	file = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (file == NULL) {
		error = errno;
		if (fd >= 0)
			close(fd);
		return cli_error(EXIT_MACHINE, "plot: %.200s: %s", path, file_error(error));
	}
	written = fwrite(text->data, 1, text->len, file) == text->len;
	if (fclose(file) == 0 && written)
		return 0;
	return cli_error(EXIT_MACHINE, "plot: %.200s: %s", path, strerror(errno));
}

static bool ends_with(const char *path, const char *end)
{
	size_t len = strlen(path);

	return len > strlen(end) && strcmp(path + len - strlen(end), end) == 0;
}

struct plot_asked {
	struct csv_replay_files outputs, stats;
	char *measurement;
	const char *picture;
	bool network; /* the picture is a .dot file */
};

/*
 * Moves the names of the CSV files and of the chart to the front of words[]. Returns 0 or the exit
 * status.
 */
static int read_arguments(int n, char **words, struct plot_asked *asked)
{
	uint32_t names = 0;

	csv_replay_take_stats(words, &n, &asked->stats);
	for (int i = 0; i < n; i++) {
		if (strcmp(words[i], "--measurement") == 0 && i + 1 < n)
			asked->measurement = words[++i];
		else if (words[i][0] != '-')
			words[names++] = words[i];
		else
			return cli_error(EXIT_TEXT,
				"plot '%.100s': allowed: FILE.csv... PICTURE.svg, --stats FILE.csv, "
				"--measurement NAME, --help",
				words[i]);
	}
	if (asked->measurement != NULL)
		make_printable(asked->measurement); /* epoch_view_copy() does the same */
	if (names < 2)
		return cli_error(EXIT_TEXT,
			"plot: give files of --output and a chart: FILE.csv... PICTURE.svg");
	asked->outputs = (struct csv_replay_files){words, names - 1};
	asked->picture = words[names - 1];
	asked->network = ends_with(asked->picture, ".dot");
	if (!asked->network && !ends_with(asked->picture, ".svg"))
		return cli_error(EXIT_TEXT,
			"plot '%.100s': the last argument must be a .svg or .dot file",
			asked->picture);
	if (asked->network && (asked->stats.n > 0 || asked->measurement != NULL))
		return cli_error(EXIT_TEXT,
			"plot: --stats and --measurement are only for a .svg file; omit them");
	return 0;
}

static int reject_pipes(const struct csv_replay_files *files)
{
	struct stat file;

	for (uint32_t f = 0; f < files->n; f++)
		if (stat(files->paths[f], &file) == 0 && !S_ISREG(file.st_mode) &&
			!S_ISDIR(file.st_mode))
			return cli_error(EXIT_MACHINE,
				"plot: %.200s: not a regular file, so it cannot be read twice; "
				"copy it to a file",
				files->paths[f]);
	return 0;
}

static int draw_files(const struct plot_asked *asked)
{
	char error[CSV_REPLAY_ERROR_MAX];
	struct text text = {0};
	int status;
	struct series *series =
		series_read(&asked->outputs, &asked->stats, asked->measurement, error, &status);

	if (series == NULL)
		return cli_error(status, "plot: %s", error);
	if (series->cut)
		cli_error(0, "warning: the last line of a file is truncated, and ignored");
	if (series->others && asked->measurement == NULL)
		cli_error(0,
			"only the first measurement is drawn, %.100s; --measurement NAME "
			"selects another",
			series->measurement);
	draw(&text, series);
	status = write_picture(asked->picture, &text);
	text_free(&text);
	series_free(series);
	return status;
}

static int draw_network(const struct plot_asked *asked)
{
	char error[PLOT_NETWORK_ERROR_MAX];
	struct text text = {0};
	int status = plot_network(&asked->outputs, &text, error);

	if (status != 0)
		cli_error(status, "plot: %s", error);
	else
		status = write_picture(asked->picture, &text);
	text_free(&text);
	return status;
}

int plot(int argc, char **argv)
{
	struct plot_asked asked = {0};
	int status;

	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			fputs(usage, stdout);
			return 0;
		}
	status = read_arguments(argc - 1, argv + 1, &asked);
	if (status == 0)
		status = reject_pipes(&asked.outputs);
	if (status == 0)
		status = reject_pipes(&asked.stats);
	if (status == 0)
		status = asked.network ? draw_network(&asked) : draw_files(&asked);
	return status;
}
