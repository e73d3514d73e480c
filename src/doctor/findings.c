/* SPDX-License-Identifier: BSD-3-Clause */
#include "doctor/check.h"

#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"
#include "report/formats/format.h"

#define NAME_COLUMN  11
#define FOUND_COLUMN 34

/* in the order of printing */
const struct check_table check_tables[] = {
	{"Run", run_checks},
	{"Memory", memory_checks},
	{"CPUs", cpu_checks},
	{"Clocks", time_checks},
	{"Ports", card_checks},
	{"Ports", interface_checks},
	{"Ports", forward_checks},
	{"Kernel", kernel_checks},
	{0},
};

static const char *const status_words[] = {
	[FINDING_OK] = "ok",
	[FINDING_WARNING] = "warning",
	[FINDING_MISSING] = "missing",
};

static void run_check(const struct check *check, const struct host *host,
	const struct host_port *port, struct finding *finding)
{
	if (check->file != NULL && !sys_exists(host->root, "%s", check->file)) {
		finding_unseen(finding, SYS_ABSENT, check->file);
		return;
	}
	if (check->where != NULL && !check->where(host, port))
		return;
	if (check->value.file != NULL || check->value.text != NULL)
		judge_value(host, port, &check->value, finding);
	if (check->look != NULL)
		check->look(host, finding);
	if (check->look_at != NULL)
		check->look_at(host, port, finding);
}

static void add(struct findings *findings, const struct check_table *table,
	const struct check *check, const struct host *host, const struct host_port *port)
{
	struct finding *finding = &findings->rows[findings->nb_rows];

	VERIFY(findings->nb_rows, <, findings->room);
	*finding = (struct finding){.title = table->title, .check = check};
	run_check(check, host, port, finding);
	if (finding->status == FINDING_NONE)
		return;
	findings->counts[finding->status]++;
	findings->nb_rows++;
}

static size_t count_checks(void)
{
	size_t n = 0;

	for (const struct check_table *table = check_tables; table->checks != NULL; table++)
		for (const struct check *check = table->checks; check->name != NULL; check++)
			n++;
	return n;
}

static void add_all(
	struct findings *findings, const struct check_table *table, const struct host *host)
{
	for (const struct check *check = table->checks; check->name != NULL; check++) {
		bool of_ports = check->look_at != NULL || check->where != NULL;

		if ((check->sources & host->needs->sources) == 0)
			continue;
		if (!of_ports)
			add(findings, table, check, host, NULL);
		for (uint32_t p = 0; of_ports && p < host->nb_ports; p++)
			if ((check->sources & host->ports[p].source) != 0)
				add(findings, table, check, host, &host->ports[p]);
	}
}

bool findings_make(struct findings *findings, const struct host *host)
{
	size_t room = count_checks() * (host->nb_ports + 1);

	*findings =
		(struct findings){.room = room, .rows = calloc(room, sizeof(findings->rows[0]))};
	if (findings->rows == NULL)
		return false;
	for (const struct check_table *table = check_tables; table->checks != NULL; table++)
		add_all(findings, table, host);
	return true;
}

void findings_free(struct findings *findings)
{
	free(findings->rows);
	*findings = (struct findings){0};
}

static void spaces(struct text *text, size_t n)
{
	for (; n > 0; n--)
		text_char(text, ' ');
}

static void wrap(struct text *text, const char *words)
{
	size_t column = FOUND_COLUMN;

	while (*words != '\0') {
		size_t length = strcspn(words, " ");

		if (column > FOUND_COLUMN && column + 1 + length > FINDINGS_WIDTH) {
			text_char(text, '\n');
			spaces(text, FOUND_COLUMN);
			column = FOUND_COLUMN;
		} else if (column > FOUND_COLUMN) {
			text_char(text, ' ');
			column++;
		}
		text_add(text, words, length);
		column += length;
		words += length;
		words += strspn(words, " ");
	}
	text_char(text, '\n');
}

static void explain(struct text *text, const char *label)
{
	VERIFY(strlen(label), <, (size_t)(FOUND_COLUMN - NAME_COLUMN));
	spaces(text, NAME_COLUMN);
	text_str(text, label);
	spaces(text, FOUND_COLUMN - NAME_COLUMN - strlen(label));
}

static void add_finding(struct text *text, const struct finding *finding)
{
	text_printf(text, "  %-*s%-*s", NAME_COLUMN - 2, status_words[finding->status],
		FOUND_COLUMN - NAME_COLUMN, finding->check->name);
	wrap(text, finding->found);
	if (finding->status == FINDING_OK)
		return;
	if (finding->wanted[0] != '\0') {
		explain(text, "  wanted:");
		wrap(text, finding->wanted);
	}
	if (finding->command[0] != '\0') {
		explain(text, "  do:");
		text_str(text, finding->command);
		text_char(text, '\n');
	}
}

void findings_table(struct text *text, const struct findings *findings)
{
	uint32_t missing = findings->counts[FINDING_MISSING];
	const char *title = "";

	for (uint32_t i = 0; i < findings->nb_rows; i++) {
		const struct finding *finding = &findings->rows[i];

		if (strcmp(finding->title, title) != 0)
			text_printf(text, "%s%s\n", i > 0 ? "\n" : "", finding->title);
		title = finding->title;
		add_finding(text, finding);
	}
	text_printf(text, "\n%u ok, %u warnings, %u missing: %s\n", findings->counts[FINDING_OK],
		findings->counts[FINDING_WARNING], missing,
		missing > 0 ? "this run cannot start, or cannot work as configured"
			    : "this run can start");
	text_str(text, "Not checked: firmware settings, memory bandwidth, optics, the "
		       "sending side.\n");
}

void findings_csv(struct text *text, const struct findings *findings)
{
	text_str(text, FINDINGS_CSV_HEADER "\n");
	for (uint32_t i = 0; i < findings->nb_rows; i++) {
		const struct finding *finding = &findings->rows[i];

		text_str(text, finding->check->name);
		csv_string(text, status_words[finding->status]);
		csv_string(text, finding->found);
		csv_string(text, finding->wanted);
		csv_string(text, finding->command);
		text_char(text, '\n');
	}
}
