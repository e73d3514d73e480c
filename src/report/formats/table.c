/* SPDX-License-Identifier: BSD-3-Clause */

/* Prints an epoch as a table of at most TABLE_WIDTH columns. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/assertion.h"
#include "report/formats/table.h"
#include "report/rows/balance.h"
#include "report/rows/rows.h"

/* longer measurement names are truncated */
#define NAME_WIDTH "40"

struct protocol {
	uint8_t number;
	bool has_ports;
	const char *name;
};

static const struct protocol protocols[] = {
	{1, false, "icmp"},
	{2, false, "igmp"},
	{4, false, "ipip"},
	{6, true, "tcp"},
	{17, true, "udp"},
	{41, false, "ipv6"},
	{47, false, "gre"},
	{50, false, "esp"},
	{51, false, "ah"},
	{58, false, "icmpv6"},
	{88, false, "eigrp"},
	{89, false, "ospf"},
	{103, false, "pim"},
	{112, false, "vrrp"},
	{132, true, "sctp"},
};

static const struct protocol *protocol_find(uint8_t number)
{
	for (size_t p = 0; p < sizeof(protocols) / sizeof(protocols[0]); p++) {
		if (protocols[p].number == number)
			return &protocols[p];
	}
	return NULL;
}

void table_human(struct text *text, uint64_t value)
{
	static const char units[] = "KMGTPE";
	double scaled = (double)value;
	int unit = -1;

	/* 999.5 would be rounded to 1000, which has four digits. */
	while (scaled >= 999.5 && unit < 5) {
		scaled /= 1000;
		unit++;
	}
	if (unit < 0)
		text_u64(text, value);
	else
		text_printf(text, "%.*f%c",
			scaled < 9.995   ? 2
			: scaled < 99.95 ? 1
					 : 0,
			scaled, units[unit]);
}

/* Below 10^9 the column has room for all digits. */
static void add_packets(struct text *text, uint64_t value)
{
	if (value < 1000000000)
		text_grouped(text, value);
	else
		table_human(text, value);
}

static void add_bytes(struct text *text, uint64_t value)
{
	table_human(text, value);
	text_char(text, 'B');
}

static bool is_exact(const struct report_figure *figure)
{
	return figure->high_known && figure->low == figure->value && figure->high == figure->value;
}

void table_error(struct text *text, const struct report_figure *figure)
{
	uint64_t below = figure->value - figure->low;

	if (is_exact(figure)) {
		text_str(text, "exact");
		return;
	}
	text_char(text, '-');
	table_human(text, below);
	text_str(text, "/+");
	if (figure->high_known)
		table_human(text, figure->high - figure->value);
	else
		text_char(text, '?');
}

static bool shows_ports(const char *const *fields)
{
	const struct protocol *protocol;

	if (fields[KEY_PROTO] == NULL)
		return true;
	protocol = protocol_find((uint8_t)atoi(fields[KEY_PROTO]));
	return protocol != NULL && protocol->has_ports;
}

/* Appends one end of a flow, such as "10.0.0.1:443", without fields that the key lacks. */
static void add_end(struct text *text, const char *const *fields, enum key_field_id address,
	enum key_field_id port)
{
	bool with_port = fields[port] != NULL && shows_ports(fields);

	if (fields[address] != NULL) {
		bool brackets = with_port && strchr(fields[address], ':') != NULL;

		text_printf(text, brackets ? "[%s]" : "%s", fields[address]);
	}
	if (with_port)
		text_printf(text, ":%s", fields[port]);
}

static void add_proto(struct text *text, uint8_t number)
{
	const struct protocol *protocol = protocol_find(number);

	if (protocol != NULL)
		text_str(text, protocol->name);
	else
		text_printf(text, "proto %u", number);
}

/* RFC 9293, section 3.1; the lowest bit is first. */
static void add_tcp_flags(struct text *text, uint64_t flags)
{
	static const char letters[] = "FSRPAUEC";

	text_str(text, flags != 0 ? " " : "");
	for (int bit = 0; bit < 8; bit++)
		if (flags >> bit & 1)
			text_char(text, letters[bit]);
}

/* Appends the optional fields of the key from `begin` on, such as "vlan 5". */
static void add_asked(struct text *text, const char *const *fields, size_t begin)
{
	for (uint32_t f = 0; f < KEY_FIELD_COUNT; f++) {
		if (fields[f] == NULL || key_fields[f].column != KEY_COLUMN_ASKED)
			continue;
		text_str(text, text->len > begin ? " " : "");
		text_printf(text, "%s %s", key_fields[f].name, fields[f]);
	}
}

size_t table_flow_of(struct text *text, const char *const *fields)
{
	size_t begin = text->len, source_end;

	add_end(text, fields, KEY_SRC_IP, KEY_SRC_PORT);
	source_end = text->len;
	if (fields[KEY_DST_IP] != NULL || fields[KEY_DST_PORT] != NULL) {
		text_str(text, source_end > begin ? " -> " : "-> ");
		add_end(text, fields, KEY_DST_IP, KEY_DST_PORT);
	}
	if (fields[KEY_PROTO] != NULL) {
		text_str(text, text->len > begin ? " " : "");
		add_proto(text, (uint8_t)atoi(fields[KEY_PROTO]));
	}
	if (fields[KEY_TCP_FLAGS] != NULL)
		add_tcp_flags(text, (uint64_t)atoi(fields[KEY_TCP_FLAGS]));
	add_asked(text, fields, begin);
	return source_end - begin;
}

size_t table_flow(struct text *text, const struct key_rule *rule, const struct key *key)
{
	char texts[KEY_FIELD_COUNT][KEY_FIELD_TEXT_MAX + 1];
	const char *fields[KEY_FIELD_COUNT] = {NULL};

	for (uint32_t f = 0; f < KEY_FIELD_COUNT; f++)
		if (key_rule_has(rule, (enum key_field_id)f)) {
			texts[f][key_field_print(rule, key, (enum key_field_id)f, texts[f])] = '\0';
			fields[f] = texts[f];
		}
	return table_flow_of(text, fields);
}

enum table_column {
	COLUMN_RANK,
	COLUMN_FLOW,
	COLUMN_COUNTED, /* the metric that ranks the rows */
	COLUMN_ERROR,
	COLUMN_OTHER,
	COLUMN_PPS,
	COLUMN_BPS,
	COLUMN_SHARE,
	COLUMN_COUNT,
};

#define COLUMN_GAP 2
#define FLOW_MIN   20

struct table_cells {
	struct text text;
	size_t end[COLUMN_COUNT];
	size_t source_len; /* bytes of the flow before " -> " */
};

static const char *cell(const struct table_cells *cells, enum table_column column, size_t *len)
{
	size_t begin = column == 0 ? 0 : cells->end[column - 1];

	*len = cells->end[column] - begin;
	return cells->text.data + begin;
}

static void fill_titles(struct table_cells *cells, bool counts_bytes)
{
	const char *const titles[COLUMN_COUNT] = {"#", "flow", counts_bytes ? "bytes" : "packets",
		"error", counts_bytes ? "packets" : "bytes", "pps", "bps", "share"};

	text_clear(&cells->text);
	for (int c = 0; c < COLUMN_COUNT; c++) {
		text_str(&cells->text, titles[c]);
		cells->end[c] = cells->text.len;
	}
	cells->source_len = strlen(titles[COLUMN_FLOW]);
}

static void add_figure(struct text *text, const struct report_figure *figure, bool bytes)
{
	if (!figure->known)
		text_char(text, '-');
	else if (bytes)
		add_bytes(text, figure->value);
	else
		add_packets(text, figure->value);
}

static void add_rates(
	struct table_cells *cells, const struct report_epoch *epoch, const struct report_row *row)
{
	struct text *text = &cells->text;
	uint64_t rate;

	/* Rates from generated time stamps mean nothing. */
	if (epoch->took == 0 && report_pps(epoch, row, &rate)) {
		text_str(text, is_exact(&row->packets) ? "" : "~");
		table_human(text, rate);
	} else {
		text_char(text, '-');
	}
	cells->end[COLUMN_PPS] = text->len;
	if (epoch->took == 0 && report_bps(epoch, row, &rate)) {
		text_str(text, is_exact(&row->bytes) ? "" : "~");
		table_human(text, rate);
		text_char(text, 'b');
	} else {
		text_char(text, '-');
	}
	cells->end[COLUMN_BPS] = text->len;
}

/* "-" stands for an unknown value, "~" for an inexact value without an error column. */
static void fill_row(struct table_cells *cells, const struct report_epoch *epoch,
	const struct report_measurement *measurement, const struct report_row *row)
{
	struct text *text = &cells->text;
	bool by_bytes = measurement->counts_bytes;
	const struct report_figure *counted = report_counted(row, by_bytes);
	const struct report_figure *other = report_counted(row, !by_bytes);

	text_clear(text);
	text_u64(text, row->rank);
	cells->end[COLUMN_RANK] = text->len;
	cells->source_len = table_flow(text, measurement->key_rule, &row->key);
	cells->end[COLUMN_FLOW] = text->len;
	add_figure(text, counted, by_bytes);
	cells->end[COLUMN_COUNTED] = text->len;
	table_error(text, counted);
	cells->end[COLUMN_ERROR] = text->len;
	text_str(text, other->known && !is_exact(other) ? "~" : "");
	add_figure(text, other, !by_bytes);
	cells->end[COLUMN_OTHER] = text->len;
	add_rates(cells, epoch, row);
	text_printf(text, "%s%.2f%%", is_exact(counted) ? "" : "~", row->share * 100);
	cells->end[COLUMN_SHARE] = text->len;
}

/* 0: the column is not printed */
struct widths {
	size_t of[COLUMN_COUNT];
	size_t source; /* largest source_len of a row */
};

static void widen(struct widths *widths, const struct table_cells *cells)
{
	for (int c = 0; c < COLUMN_COUNT; c++) {
		size_t len;

		cell(cells, (enum table_column)c, &len);
		if (len > widths->of[c])
			widths->of[c] = len;
	}
	if (cells->source_len > widths->source)
		widths->source = cells->source_len;
}

static size_t flow_room(const struct widths *widths, size_t columns)
{
	size_t others = 0;

	for (int c = 0; c < COLUMN_COUNT; c++)
		if (c != COLUMN_FLOW && widths->of[c] > 0)
			others += widths->of[c] + COLUMN_GAP;
	return columns > others + FLOW_MIN ? columns - others : FLOW_MIN;
}

/* A wide flow takes two lines. If one of these is too wide, the rate columns are dropped. */
static void limit_flow(struct widths *widths, size_t columns)
{
	size_t room = flow_room(widths, columns);

	if (room < widths->source) {
		widths->of[COLUMN_PPS] = widths->of[COLUMN_BPS] = 0;
		room = flow_room(widths, columns);
	}
	if (widths->of[COLUMN_FLOW] > room)
		widths->of[COLUMN_FLOW] = room;
}

static uint32_t print_cells(
	struct text *text, const struct table_cells *cells, const struct widths *widths)
{
	size_t flow_len, len;
	const char *flow = cell(cells, COLUMN_FLOW, &flow_len);
	bool broken = flow_len > widths->of[COLUMN_FLOW];

	ASSERT(cells->source_len, <=, flow_len);
	for (int c = 0; c < COLUMN_COUNT; c++) {
		const char *string = cell(cells, (enum table_column)c, &len);
		int width = (int)widths->of[c];

		if (width == 0)
			continue;
		if (c == COLUMN_FLOW && broken)
			len = cells->source_len;
		if (c > 0)
			text_printf(text, "%*s", COLUMN_GAP, "");
		text_printf(text, "%*.*s", c == COLUMN_FLOW ? -width : width, (int)len, string);
	}
	text_char(text, '\n');
	if (broken)
		text_printf(text, "%*s%.*s\n", (int)widths->of[COLUMN_RANK] + COLUMN_GAP, "",
			(int)(flow_len - cells->source_len), flow + cells->source_len);
	return broken ? 2 : 1;
}

static void add_rows(struct text *text, const struct report_epoch *epoch,
	const struct report_measurement *measurement, const struct table_size *size)
{
	struct widths widths = {0};
	struct table_cells cells = {0};
	uint32_t lines = 1;

	fill_titles(&cells, measurement->counts_bytes);
	widen(&widths, &cells);
	for (uint32_t r = 0; r < measurement->nb_rows && r < size->lines && !cells.text.failed;
		r++) {
		fill_row(&cells, epoch, measurement, &measurement->rows[r]);
		widen(&widths, &cells);
	}
	limit_flow(&widths, size->columns);

	fill_titles(&cells, measurement->counts_bytes);
	print_cells(text, &cells, &widths);
	for (uint32_t r = 0; r < measurement->nb_rows && !cells.text.failed; r++) {
		size_t before = text->len;

		fill_row(&cells, epoch, measurement, &measurement->rows[r]);
		lines += print_cells(text, &cells, &widths);
		if (lines > size->lines) {
			text->len = before;
			break;
		}
	}
	text->failed |= cells.text.failed;
	text_free(&cells.text);
}

static void add_measurement(struct text *text, const struct report_epoch *epoch,
	const struct report_measurement *measurement, const struct table_size *size)
{
	text_printf(text, "\n%." NAME_WIDTH "s: key %s, sketch %s\n%s", measurement->name,
		measurement->key_rule->name, measurement->sketch,
		measurement->distinct_exact ? "" : "~");
	text_grouped(text, measurement->distinct_keys);
	text_str(text, " distinct keys");
	if (measurement->confidence_known)
		text_printf(text, ", confidence %.15g", measurement->confidence);
	else
		text_str(text, ", losses unknown");
	text_char(text, '\n');
	if (epoch->ledger.kept_up && measurement->looked_at < 1) {
		const struct ledger ledger = report_ledger(epoch, measurement);

		text_printf(text, "processed %.1f%% of the packets", measurement->looked_at * 100);
		if (measurement->weight > 1)
			text_printf(text, ", some counted as %llu",
				(unsigned long long)measurement->weight);
		text_str(text, ledger.skipped > ledger.left_out.packets
				       ? "; distinct keys are those of these packets\n"
				       : "; distinct keys are those of all packets\n");
	}
	if (measurement->nb_rows == 0)
		text_str(text, "no flow reached the threshold\n");
	else
		add_rows(text, epoch, measurement, size);
	if (measurement->shed_packets > 0) {
		text_grouped(text, measurement->shed_packets);
		text_str(text, " packets of new keys were shed\n");
	}
	if (measurement->undecoded_packets > 0) {
		text_grouped(text, measurement->undecoded_flows);
		text_str(text, " flows were not decoded; ");
		text_grouped(text, measurement->undecoded_packets);
		text_str(text, " packets are missing from exact counts\n");
	}
	if (measurement->forgotten_packets > 0) {
		text_grouped(text, measurement->forgotten_packets);
		text_str(text, " packets of expired flows are not in any row\n");
	} else if (measurement->incomplete) {
		text_str(text, "flows may be missing: too many keys to recover all of them\n");
	}
}

static void add_headline(struct text *text, const struct report_epoch *epoch)
{
	text_printf(text, "epoch %llu  ", (unsigned long long)epoch->number);
	text_time(text, epoch->start);
	text_str(text, " to ");
	text_time(text, epoch->end);
	text_printf(text, epoch->took > 0 ? " (%.3f s of generated time)\n" : " (%.3f s)\n",
		(double)report_duration(epoch) / 1e9);
}

static void add_design(struct text *text, const struct report_epoch *epoch)
{
	text_printf(text, "design %s, sharing %s, %u worker%s\n", epoch->design, epoch->sharing,
		epoch->workers, epoch->workers == 1 ? "" : "s");
}

#define LEDGER_LABEL  "%-16s"
#define LEDGER_NUMBER 26 /* a uint64_t with commas */

static void add_count(struct text *text, const char *label, uint64_t value)
{
	struct text number = {0};

	text_grouped(&number, value);
	text_printf(
		text, LEDGER_LABEL "%*.*s\n", label, LEDGER_NUMBER, (int)number.len, number.data);
	text_free(&number);
}

static void add_count_if(struct text *text, const char *label, uint64_t value)
{
	if (value > 0)
		add_count(text, label, value);
}

static void add_losses(struct text *text, const struct ledger *ledger)
{
	uint64_t lost = ledger_lost(ledger);

	if (ledger->losses_unknown && lost == 0)
		text_printf(text, LEDGER_LABEL "%*s\n", "lost", LEDGER_NUMBER, "unknown");
	else
		add_count(text, ledger->losses_unknown ? "lost (at least)" : "lost", lost);
	for (uint32_t c = 0; c < LEDGER_COLUMNS; c++) {
		char label[32];

		snprintf(label, sizeof(label), "  %s", ledger_columns[c].name);
		if (ledger_columns[c].fate == LEDGER_LOST)
			add_count_if(text, label, ledger_column(ledger, c));
	}
	add_count_if(text, "unaccounted", ledger->unaccounted);
}

static void add_balance(struct text *text, const struct report_epoch *epoch)
{
	const struct report_load *busiest = balance_busiest(epoch);
	double ratio = balance_ratio(epoch);

	if (epoch->workers > 1 && ratio > 0)
		text_printf(text,
			LEDGER_LABEL "%.2f times the mean on worker %u, %.1f%% of the packets\n",
			"imbalance", ratio, (unsigned int)(busiest - epoch->loads),
			balance_share(epoch, busiest) * 100);
}

static void add_rate(struct text *text, const struct report_epoch *epoch)
{
	double seconds = (double)report_rate_time(epoch) / 1e9;

	if (seconds <= 0)
		return;
	text_printf(text, LEDGER_LABEL "%.3f Mpps, %s%.3f Gbps",
		epoch->took > 0 ? "processed" : "rate",
		(double)epoch->ledger.measured / seconds / 1e6,
		epoch->ledger.missing_bytes > 0 ? "at least " : "",
		(double)epoch->ledger.bytes * 8 / seconds / 1e9);
	text_printf(text, epoch->took > 0 ? ", in %.3f s\n" : "\n", seconds);
}

static void add_cost(struct text *text, const struct ledger *ledger)
{
	double received = (double)ledger->received;

	if (ledger->received == 0)
		return;
	text_printf(text,
		LEDGER_LABEL "receive %.1f ns, parse and update %.1f ns, free %.1f ns: %.1f ns\n",
		"cost per packet", (double)ledger->rx_ns / received,
		(double)ledger->ppt_ns / received, (double)ledger->free_ns / received,
		(double)(ledger->rx_ns + ledger->ppt_ns + ledger->free_ns) / received);
}

static void add_ledger(struct text *text, const struct report_epoch *epoch)
{
	const struct ledger *ledger = &epoch->ledger;

	text_char(text, '\n');
	add_count(text, "offered", ledger->offered);
	add_count(text, "received", ledger->received);
	add_count(text, "measured", ledger->measured);
	add_count_if(text, "filtered", ledger->filtered);
	add_count_if(text, "duplicate", ledger->duplicate);
	add_count(text, "non-IP", ledger->non_ip);
	add_count(text, "malformed", ledger->malformed);
	add_count_if(text, "skipped", ledger->skipped);
	add_losses(text, ledger);
	add_count(text, ledger->missing_bytes > 0 ? "bytes (at least)" : "bytes", ledger->bytes);
	add_rate(text, epoch);
	add_cost(text, ledger);
	add_balance(text, epoch);
	text_char(text, '\n');
}

void table_epoch(struct text *text, const struct report_epoch *epoch)
{
	static const struct table_size whole = {.lines = UINT32_MAX, .columns = TABLE_WIDTH};

	add_headline(text, epoch);
	add_design(text, epoch);
	for (uint32_t m = 0; m < epoch->nb_measurements; m++)
		add_measurement(text, epoch, &epoch->measurements[m], &whole);
	add_ledger(text, epoch);
}

uint64_t table_rows(const struct report_epoch *epoch)
{
	uint64_t rows = output_rows(&output_heavy_hitters, epoch);

	return rows > 0 ? rows : 1;
}

static uint32_t count_lines(const struct text *text, size_t begin)
{
	uint32_t lines = 0;

	for (size_t i = begin; i < text->len; i++)
		lines += text->data[i] == '\n';
	return lines;
}

static void cut_lines(struct text *text, size_t begin, uint32_t lines)
{
	for (size_t i = begin; i < text->len; i++) {
		if (lines == 0)
			text->len = i;
		lines -= lines > 0 && text->data[i] == '\n';
	}
}

/* Counts the headings and notes of all measurements. */
static uint32_t lines_of_headings(const struct report_epoch *epoch)
{
	static const struct table_size no_rows = {.lines = 1, .columns = TABLE_WIDTH};
	struct text text = {0};
	uint32_t lines;

	for (uint32_t m = 0; m < epoch->nb_measurements; m++)
		add_measurement(&text, epoch, &epoch->measurements[m], &no_rows);
	lines = count_lines(&text, 0) - epoch->nb_measurements;
	text_free(&text);
	return lines;
}

void table_screen(
	struct text *text, const struct report_epoch *epoch, const struct table_size *size)
{
	struct table_size part = *size;
	size_t begin = text->len;
	uint32_t taken;

	add_headline(text, epoch);
	ledger_sentence(text, &epoch->ledger, 1);
	text_char(text, '\n');
	add_rate(text, epoch);
	add_balance(text, epoch);
	taken = count_lines(text, begin) + lines_of_headings(epoch);
	part.lines = taken < size->lines ? (size->lines - taken) / epoch->nb_measurements : 0;
	for (uint32_t m = 0; m < epoch->nb_measurements; m++)
		add_measurement(text, epoch, &epoch->measurements[m], &part);
	cut_lines(text, begin, size->lines);
}

/* Control sequences of ECMA-48, and of the VT100 for line wrapping. */
#define WRAP_OFF  "\033[?7l"
#define WRAP_ON   "\033[?7h"
#define TO_BOTTOM "\033[999;1H"
#define TO_LINE   "\033[%u;1H"
#define CLEAR     "\033[J"

#define SPARE_LINES 2 /* one for screen_silence(), one for the cursor */

bool screen_possible(void)
{
	const char *terminal = getenv("TERM");

	return terminal != NULL && terminal[0] != '\0' && strcmp(terminal, "dumb") != 0;
}

/* A serial line does not report its size: returns 24 x 80. */
static struct table_size terminal_size(void)
{
	struct winsize size = {0};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row <= SPARE_LINES ||
		size.ws_col == 0)
		size = (struct winsize){.ws_row = 24, .ws_col = 80};
	return (struct table_size){
		.lines = size.ws_row,
		.columns = size.ws_col < TABLE_WIDTH ? size.ws_col : TABLE_WIDTH,
	};
}

static void scroll_other_output_away(
	struct text *text, struct screen *screen, uint32_t height, uint64_t said)
{
	if (screen->lines > 0 && screen->said == said)
		return;
	text_str(text, TO_BOTTOM);
	for (uint32_t l = 0; l < height; l++)
		text_char(text, '\n');
	screen->said = said;
	screen->lines = 0;
}

void screen_epoch(
	struct text *text, struct screen *screen, const struct report_epoch *epoch, uint64_t said)
{
	struct table_size size = terminal_size();
	size_t begin;

	text_str(text, WRAP_OFF);
	scroll_other_output_away(text, screen, size.lines, said);
	text_printf(text, TO_LINE CLEAR, 1);
	begin = text->len;
	size.lines -= SPARE_LINES;
	table_screen(text, epoch, &size);
	screen->lines = count_lines(text, begin);
	text_str(text, WRAP_ON);
}

void screen_silence(struct text *text, struct screen *screen, int64_t end, uint64_t said)
{
	text_str(text, WRAP_OFF);
	scroll_other_output_away(text, screen, terminal_size().lines, said);
	text_printf(text, TO_LINE CLEAR "no packets %suntil ", screen->lines + 1,
		screen->lines > 0 ? "from then " : "");
	text_time(text, end);
	text_str(text, "\n" WRAP_ON);
}
