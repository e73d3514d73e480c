/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/top_screen.h"

#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"
#include "report/formats/table.h"

#define FOOTER "q quit  m measurement  b packets/bytes  o order  / find  space freeze  ? help"

void view_add(struct view *view, struct epoch_view *epoch)
{
	if (view->nb_epochs > 0 && epoch->closed > view->epochs[0]->closed + 1)
		view->missed += epoch->closed - view->epochs[0]->closed - 1;
	VERIFY(view->nb_epochs, <=, (uint32_t)VIEW_EPOCHS);
	if (view->nb_epochs == VIEW_EPOCHS)
		epoch_view_free(view->epochs[--view->nb_epochs]);
	memmove(view->epochs + 1, view->epochs, view->nb_epochs * sizeof(view->epochs[0]));
	view->epochs[0] = epoch;
	view->nb_epochs++;
}

void view_clear(struct view *view)
{
	while (view->nb_epochs > 0)
		epoch_view_free(view->epochs[--view->nb_epochs]);
	view->missed = 0;
}

struct epoch_view_measurement *view_measurement(const struct view *view)
{
	const struct epoch_view *epoch = view->nb_epochs > 0 ? view->epochs[0] : NULL;
	struct epoch_view_measurement *named;

	if (epoch == NULL || epoch->nb_measurements == 0)
		return NULL;
	named = view->measurement != NULL ? epoch_view_find(epoch, view->measurement) : NULL;
	return named != NULL ? named : &epoch->measurements[0];
}

bool view_next_measurement(struct view *view)
{
	const struct epoch_view_measurement *shown = view_measurement(view);
	const struct epoch_view *epoch = view->epochs[0];
	uint32_t next;
	char *name;

	if (shown == NULL)
		return true;
	next = (uint32_t)(shown - epoch->measurements + 1) % epoch->nb_measurements;
	name = strdup(epoch->measurements[next].values.name);
	if (name == NULL)
		return false;
	free(view->measurement);
	view->measurement = name;
	view->first = 0;
	return true;
}

bool view_shows_bytes(const struct view *view)
{
	const struct epoch_view_measurement *measurement = view_measurement(view);

	return view->metric_chosen ? view->bytes
				   : measurement != NULL && measurement->values.counts_bytes;
}

/* add_line() drops lines that do not fit on the screen. */
struct screen_lines {
	struct top_screen *picture;
	uint32_t n, max;
};

static struct text *add_line(struct screen_lines *screen_lines, enum top_screen_style style)
{
	struct top_screen_line *line;

	if (screen_lines->n >= screen_lines->max)
		return NULL;
	line = &screen_lines->picture->lines[screen_lines->n++];
	line->style = style;
	return &line->text;
}

/* Assumes that each character takes one column. */
static void cut(struct text *text, uint32_t columns)
{
	size_t at = 0;
	uint32_t n = 0;

	while (at < text->len) {
		size_t len = text_character_len(text->data + at, text->len - at);

		if (n++ == columns) {
			text->len = at;
			return;
		}
		at += len > 0 ? len : 1;
	}
}

static void align(struct text *text, size_t begin, uint32_t width)
{
	size_t len = text->len - begin;

	if (len >= width)
		return;
	text_printf(text, "%*s", (int)(width - len), "");
	if (text->failed)
		return;
	memmove(text->data + begin + (width - len), text->data + begin, len);
	memset(text->data + begin, ' ', width - len);
}

static void add_seconds(struct text *text, uint64_t ns)
{
	text_printf(text, "%.3g s", (double)ns / 1e9);
}

static void add_rate(struct text *text, uint64_t duration, uint64_t amount, bool bytes)
{
	if (duration > 0)
		table_human(text,
			report_per_second((unsigned __int128)amount * (bytes ? 8 : 1), duration));
	else
		table_human(text, amount);
}

static void draw_title(
	struct screen_lines *screen_lines, const struct view *view, const struct epoch_view *epoch)
{
	struct text *text = add_line(screen_lines, PICTURE_TITLE);

	if (text == NULL)
		return;
	text_printf(text, "sketchtap%s%s", view->run != NULL ? " " : "",
		view->run != NULL ? view->run : "");
	/* The most important states come first, because a narrow screen cuts the line. */
	text_str(text, view->frozen ? "  FROZEN" : "");
	if (view->gone != NULL)
		text_printf(text, "  %s", view->gone);
	if (epoch != NULL) {
		text_printf(text, "  epoch %llu  ", (unsigned long long)epoch->number);
		text_time(text, epoch->start);
		text_str(text, "  ");
		add_seconds(text, epoch_view_duration(epoch));
		text_str(text, epoch->took > 0 ? " of generated time" : "");
	}
}

static void draw_rates(struct screen_lines *screen_lines, const struct epoch_view *epoch,
	const struct ledger *ledger)
{
	struct text *text = add_line(screen_lines, PICTURE_PLAIN);
	uint64_t duration = epoch_view_rate_time(epoch);

	if (text == NULL)
		return;
	text_str(text, "offered ");
	add_rate(text, duration, ledger->offered, false);
	text_str(text, duration > 0 ? "pps, measured " : " packets, measured ");
	add_rate(text, duration, ledger->measured, false);
	text_str(text, duration > 0 ? "pps " : " packets ");
	text_str(text, ledger->missing_bytes > 0 ? "at least " : "");
	add_rate(text, duration, ledger->bytes, true);
	text_str(text, duration > 0 ? "bit/s" : " bytes");
	if (epoch->late)
		text_printf(text, ", ended late");
	if (epoch->took > 0)
		text_printf(text, ", by processing time");
}

/* Returns LEDGER_COLUMNS if no packets were lost. */
static uint32_t most_lost(const struct ledger *ledger)
{
	uint32_t most = LEDGER_COLUMNS;
	uint64_t packets = 0;

	for (uint32_t c = 0; c < LEDGER_COLUMNS; c++)
		if (ledger_columns[c].fate == LEDGER_LOST && ledger_column(ledger, c) > packets) {
			packets = ledger_column(ledger, c);
			most = c;
		}
	return most;
}

static void draw_ledger(
	struct screen_lines *screen_lines, const struct view *view, const struct ledger *ledger)
{
	bool lost = ledger_lost(ledger) > 0 || ledger->losses_unknown || ledger->doubtful > 0 ||
		    ledger->unaccounted > 0;
	struct text *text = add_line(screen_lines, lost ? PICTURE_ALARM : PICTURE_PLAIN);
	const uint32_t most = most_lost(ledger);

	if (text == NULL)
		return;
	text_grouped(text, ledger->offered);
	text_str(text, " packets, ");
	ledger_losses(text, ledger);
	ledger_others(text, ledger);
	if (view->missed > 0)
		text_printf(text, "; %llu intervals missed", (unsigned long long)view->missed);
	text = most < LEDGER_COLUMNS ? add_line(screen_lines, PICTURE_ALARM) : NULL;
	if (text != NULL)
		text_printf(text, "%s: %s", ledger_columns[most].name, ledger_columns[most].why);
}

static void draw_workers(struct screen_lines *screen_lines, const struct epoch_view *epoch)
{
	uint64_t duration = epoch_view_rate_time(epoch);
	struct text *text = epoch->nb_workers > 0 && duration > 0
				    ? add_line(screen_lines, PICTURE_PLAIN)
				    : NULL;

	if (text == NULL)
		return;
	text_str(text, "workers busy");
	for (uint32_t w = 0; w < epoch->nb_workers; w++)
		text_printf(text, "%s %.0f %%", w > 0 ? "," : "",
			(double)epoch->workers[w].busy_ns / (double)duration * 100);
}

static void draw_ports(struct screen_lines *screen_lines, const struct epoch_view *epoch)
{
	struct text *text;
	bool down = false;

	for (uint32_t p = 0; p < epoch->nb_ports; p++)
		down |= !epoch->ports[p].up;
	text = epoch->nb_ports > 0 ? add_line(screen_lines, down ? PICTURE_ALARM : PICTURE_PLAIN)
				   : NULL;
	if (text == NULL)
		return;
	text_str(text, "ports");
	for (uint32_t p = 0; p < epoch->nb_ports; p++) {
		const struct report_port *port = &epoch->ports[p];

		text_printf(
			text, "%s %s %s", p > 0 ? "," : "", port->name, port->up ? "up" : "DOWN");
		if (port->up && port->speed > 0) {
			text_char(text, ' ');
			table_human(text, (uint64_t)port->speed * 1000000);
		}
	}
}

static uint64_t taken(const struct report_delivery *delivery)
{
	return delivery->delivered + delivery->acknowledged;
}

static uint64_t not_taken(const struct report_delivery *delivery)
{
	return delivery->failed + delivery->unknown + delivery->dropped;
}

static void draw_deliveries(struct screen_lines *screen_lines, const struct epoch_view *epoch)
{
	uint64_t all = 0, waiting = 0, bad = 0;
	const struct report_delivery *worst = epoch->deliveries;
	struct text *text;

	for (uint32_t d = 0; d < epoch->nb_deliveries; d++) {
		const struct report_delivery *delivery = &epoch->deliveries[d];

		all += taken(delivery);
		waiting += delivery->waiting;
		bad += not_taken(delivery);
		worst = not_taken(delivery) > not_taken(worst) ? delivery : worst;
	}
	text = epoch->nb_deliveries > 0
		       ? add_line(screen_lines, bad > 0 ? PICTURE_ALARM : PICTURE_PLAIN)
		       : NULL;
	if (text == NULL)
		return;
	text_str(text, "rows ");
	text_grouped(text, all);
	text_str(text, " delivered");
	if (waiting > 0)
		text_printf(text, ", %llu wait", (unsigned long long)waiting);
	if (bad > 0)
		text_printf(text, ", %llu not, most of them at %s", (unsigned long long)bad,
			worst->name);
}

static void add_amount(struct text *text, uint64_t amount)
{
	size_t begin = text->len;

	table_human(text, amount);
	align(text, begin, 8);
}

/* Counts have columns of width 8. The name and the kind of the export follow. */
static void draw_places(struct screen_lines *screen_lines, const struct epoch_view *epoch)
{
	struct text *text = add_line(screen_lines, PICTURE_HEAD);

	if (text != NULL)
		text_str(text, "    rows   taken  failed unknown dropped   waits export, kind");
	for (uint32_t d = 0; d < epoch->nb_deliveries; d++) {
		const struct report_delivery *delivery = &epoch->deliveries[d];

		text = add_line(
			screen_lines, not_taken(delivery) > 0 ? PICTURE_ALARM : PICTURE_PLAIN);
		if (text == NULL)
			return;
		add_amount(text, delivery->rows);
		add_amount(text, taken(delivery));
		add_amount(text, delivery->failed);
		add_amount(text, delivery->unknown);
		add_amount(text, delivery->dropped);
		add_amount(text, delivery->waiting);
		text_printf(text, " %s, %s", delivery->name, delivery->kind);
	}
}

static const struct report_figure *figure_of(const struct epoch_view_row *row, bool bytes)
{
	return bytes ? &row->values.bytes : &row->values.packets;
}

static const struct epoch_view_row *earlier_row(
	const struct view *view, uint32_t e, const char *measurement, const char *flow)
{
	const struct epoch_view_measurement *then = epoch_view_find(view->epochs[e], measurement);

	for (uint32_t r = 0; then != NULL && r < then->nb_rows; r++)
		if (strcmp(then->rows[r].flow, flow) == 0)
			return &then->rows[r];
	return NULL;
}

/* Draws a bar per past epoch, scaled to the largest. A blank means that the flow was not listed. */
static void add_past(struct text *text, const struct top_screen *screen, const struct view *view,
	const struct epoch_view_measurement *measurement, const struct epoch_view_row *row,
	bool bytes)
{
	static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char letters[] = "_.:-=+*#";
	uint64_t values[VIEW_EPOCHS] = {0}, largest = 1;

	for (uint32_t e = 0; e < view->nb_epochs; e++) {
		const struct epoch_view_row *then =
			e == 0 ? row : earlier_row(view, e, measurement->values.name, row->flow);

		values[e] = then != NULL ? figure_of(then, bytes)->value : 0;
		largest = values[e] > largest ? values[e] : largest;
	}
	for (uint32_t e = VIEW_EPOCHS; e-- > 0;) {
		uint32_t height = (uint32_t)((unsigned __int128)values[e] * 7 / largest);

		if (values[e] == 0)
			text_char(text, ' ');
		else if (screen->utf8)
			text_str(text, bars[height]);
		else
			text_char(text, letters[height]);
	}
}

/* Adds the largest possible error; "?" if unknown. */
static void add_error(struct text *text, const struct report_figure *figure)
{
	uint64_t below = figure->value - figure->low, above = figure->high - figure->value;
	double error;

	if (!figure->known || !figure->high_known || figure->value == 0) {
		text_char(text, '?');
		return;
	}
	error = (double)(above > below ? above : below) / (double)figure->value * 100;
	if (error == 0)
		text_str(text, "exact");
	else
		text_printf(text, "%.*f%%", error < 9.95 ? 1 : 0, error < 0.05 ? 0.1 : error);
}

static void draw_row(struct screen_lines *screen_lines, const struct view *view,
	const struct epoch_view *epoch, const struct epoch_view_measurement *measurement,
	const struct epoch_view_row *row)
{
	bool bytes = view_shows_bytes(view);
	bool found = view->find[0] != '\0' && strstr(row->flow, view->find) != NULL;
	struct text *text = add_line(screen_lines, found ? PICTURE_FOUND : PICTURE_PLAIN);
	const struct report_figure *figure = figure_of(row, bytes);
	size_t begin;

	if (text == NULL)
		return;
	text_printf(text, "%4u", row->values.rank);
	begin = text->len;
	if (figure->known)
		add_rate(text, epoch_view_rate_time(epoch), figure->value, bytes);
	else
		text_char(text, '?');
	align(text, begin, 8);
	begin = text->len;
	add_error(text, figure);
	align(text, begin, 7);
	begin = text->len;
	if (bytes == measurement->values.counts_bytes)
		text_printf(text, "%.1f%%", row->values.share * 100);
	else
		text_char(text, '-');
	align(text, begin, 7);
	text_char(text, ' ');
	add_past(text, screen_lines->picture, view, measurement, row, bytes);
	text_printf(text, " %s", row->flow);
}

static void draw_head(struct screen_lines *screen_lines, const struct view *view,
	const struct epoch_view_measurement *measurement)
{
	static const char *const orders[VIEW_ORDERS] = {"", ", by shown value", ", by flow"};
	bool bytes = view_shows_bytes(view);
	bool rates = epoch_view_rate_time(view->epochs[0]) > 0;
	struct text *text = add_line(screen_lines, PICTURE_TITLE);

	if (text == NULL)
		return;
	text_printf(text, "%s: %s%sby %s", measurement->values.name,
		measurement->key != NULL ? measurement->key : "",
		measurement->key != NULL ? " " : "",
		measurement->values.counts_bytes ? "bytes" : "packets");
	if (measurement->values.sketch != NULL) {
		text_printf(text, ", %s; ", measurement->values.sketch);
		text_grouped(text, measurement->values.distinct_keys);
		text_str(text, " keys");
	}
	text_printf(text, "%s%s", measurement->values.incomplete ? ", INCOMPLETE" : "",
		orders[view->order]);
	if (view->finding || view->find[0] != '\0')
		text_printf(text, "  /%s", view->find);
	text = add_line(screen_lines, PICTURE_HEAD);
	if (text != NULL)
		text_printf(text, "rank %7s  error  share %-*s flow",
			!bytes ? (rates ? "pps" : "packets") : (rates ? "bit/s" : "bytes"),
			VIEW_EPOCHS, "past");
}

static int compare_shown(const void *a, const void *b, void *bytes)
{
	const struct epoch_view_row *x = *(const struct epoch_view_row *const *)a;
	const struct epoch_view_row *y = *(const struct epoch_view_row *const *)b;
	uint64_t left = figure_of(x, bytes != NULL)->value;
	uint64_t right = figure_of(y, bytes != NULL)->value;

	return left != right
		       ? (left < right) - (left > right)
		       : (x->values.rank > y->values.rank) - (x->values.rank < y->values.rank);
}

static int compare_flows(const void *a, const void *b, void *bytes)
{
	const struct epoch_view_row *x = *(const struct epoch_view_row *const *)a;
	const struct epoch_view_row *y = *(const struct epoch_view_row *const *)b;

	(void)bytes;
	return strcmp(x->flow, y->flow);
}

static bool draw_rows(struct screen_lines *screen_lines, const struct view *view,
	const struct epoch_view_measurement *measurement)
{
	const struct epoch_view_row **rows;

	if (measurement->nb_rows == 0) {
		struct text *text = add_line(screen_lines, PICTURE_DIM);

		if (text != NULL)
			text_str(text, "no flow reached the threshold");
		return true;
	}
	rows = malloc(measurement->nb_rows * sizeof(rows[0]));
	if (rows == NULL)
		return false;
	for (uint32_t r = 0; r < measurement->nb_rows; r++)
		rows[r] = &measurement->rows[r];
	if (view->order != VIEW_BY_RANK)
		qsort_r(rows, measurement->nb_rows, sizeof(rows[0]),
			view->order == VIEW_BY_SHOWN ? compare_shown : compare_flows,
			view_shows_bytes(view) ? rows : NULL);
	for (uint32_t r = view->first; r < measurement->nb_rows; r++)
		draw_row(screen_lines, view, view->epochs[0], measurement, rows[r]);
	free(rows);
	return true;
}

static void draw_help(struct screen_lines *screen_lines)
{
	static const char *const lines[] = {
		"m, Tab      show the next measurement",
		"b           show packets, or bytes",
		"o           order: as ranked, by shown value, by flow",
		"/ TEXT      mark flows that contain TEXT; Enter: done, Escape: clear",
		"space, f    freeze the screen, or resume",
		"Right, n    show the next interval of a file",
		"d           show deliveries of each export, or flows",
		"Up, Down, PageUp, PageDown, Home   scroll",
		"?, h        show this help, or go back",
		"q           quit",
		"",
		"error: largest possible error at the confidence of the run.",
		"share: part of all measured packets, or bytes if the measurement counts bytes.",
		"past: the last ten intervals; blank if the flow was not listed.",
		"Losses are red; docs/LOSS.md explains each.",
	};

	for (size_t l = 0; l < sizeof(lines) / sizeof(lines[0]); l++) {
		struct text *text = add_line(screen_lines, PICTURE_PLAIN);

		if (text != NULL)
			text_str(text, lines[l]);
	}
}

static bool draw_epoch(struct screen_lines *screen_lines, const struct view *view)
{
	const struct epoch_view *epoch = view->epochs[0];
	const struct epoch_view_measurement *measurement = view_measurement(view);
	const struct ledger *ledger = measurement != NULL ? &measurement->ledger : &epoch->ledger;

	if (epoch->has_ledger) {
		draw_rates(screen_lines, epoch, ledger);
		draw_ledger(screen_lines, view, ledger);
	}
	draw_workers(screen_lines, epoch);
	draw_ports(screen_lines, epoch);
	draw_deliveries(screen_lines, epoch);
	if (view->places)
		draw_places(screen_lines, epoch);
	if (measurement == NULL || view->places)
		return true;
	draw_head(screen_lines, view, measurement);
	return draw_rows(screen_lines, view, measurement);
}

bool top_screen_draw(struct top_screen *screen, const struct view *view)
{
	const struct epoch_view *epoch = view->nb_epochs > 0 ? view->epochs[0] : NULL;
	/* The last line is the footer, unless it is the only one. */
	struct screen_lines screen_lines = {
		screen, 0, screen->rows > 1 ? screen->rows - 1 : screen->rows};
	bool drawn = true;

	VERIFY(screen->rows, <=, (uint32_t)TOP_SCREEN_ROWS_MAX);
	for (uint32_t r = 0; r < TOP_SCREEN_ROWS_MAX; r++) {
		text_clear(&screen->lines[r].text);
		screen->lines[r].style = PICTURE_PLAIN;
	}
	draw_title(&screen_lines, view, epoch);
	if (view->help)
		draw_help(&screen_lines);
	else if (epoch != NULL)
		drawn = draw_epoch(&screen_lines, view);
	if (screen->rows > 1) {
		struct top_screen_line *footer = &screen->lines[screen->rows - 1];

		footer->style = PICTURE_DIM;
		if (view->finding)
			text_printf(&footer->text, "/%s_", view->find);
		else
			text_str(&footer->text, FOOTER);
	}
	for (uint32_t r = 0; r < screen->rows; r++) {
		cut(&screen->lines[r].text, screen->columns);
		drawn &= !screen->lines[r].text.failed;
	}
	return drawn;
}

void top_screen_free(struct top_screen *screen)
{
	for (uint32_t r = 0; r < TOP_SCREEN_ROWS_MAX; r++)
		text_free(&screen->lines[r].text);
}
