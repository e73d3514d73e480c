/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/paper_facts.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"
#include "bench/paper_emc2.h"
#include "bench/paper_nassopoulos2014.h"
#include "bench/paper_tangari2018.h"
#include "bench/paper_wu2016.h"
#include "bench/paper_zha2022.h"

#define TEXT(name)                                                                                 \
	{                                                                                          \
		paper_##name, sizeof(paper_##name)                                                 \
	}

static const struct {
	const unsigned char *text;
	size_t size;
} texts[PAPERS] = {
	TEXT(wu2016), TEXT(zha2022), TEXT(nassopoulos2014), TEXT(emc2), TEXT(tangari2018)};

const char *const paper_names[PAPERS] = {
	"wu2016", "zha2022", "nassopoulos2014", "emc2", "tangari2018"};

const struct csv_table *paper_table(enum paper paper)
{
	static struct csv_table tables[PAPERS];

	if (tables[paper].nb_rows == 0)
		csv_table_parse_embedded(&tables[paper], texts[paper].text, texts[paper].size);
	return &tables[paper];
}

static bool has(const struct csv_table *table, uint32_t row, const char *column, const char *text)
{
	return strcmp(csv_table_cell(table, row, csv_table_column(table, column)), text) == 0;
}

const char *paper_value(
	enum paper paper, const char *item, const char *setting, const char *quantity)
{
	const struct csv_table *table = paper_table(paper);

	for (uint32_t row = 1; row < table->nb_rows; row++)
		if (has(table, row, "item", item) && has(table, row, "setting", setting) &&
			has(table, row, "quantity", quantity))
			return csv_table_cell(table, row, csv_table_column(table, "value"));
	return "";
}

double paper_number(enum paper paper, const char *item, const char *setting, const char *quantity)
{
	const char *value = paper_value(paper, item, setting, quantity);
	char *end;
	double number = strtod(value, &end);

	VERIFY(end - value, >, 0);
	return number;
}

void paper_cell_of(
	struct paper_cell *cell, const char *design, const char *sharing, const char *sketch)
{
	static const struct {
		const char *ours, *theirs;
	} names[] = {{"simple-hash", "SHT"}, {"count-min", "CMS"}, {"reversible", "RS"}};
	size_t length = strlen(design);
	const char *theirs = "";

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(sketch, names[i].ours) == 0)
			theirs = names[i].theirs;
	cell->item = strcmp(design, "rss") == 0 ? "Table 3" : "Table 4";
	snprintf(cell->setting, sizeof(cell->setting), "%s-%s-%s", design, sharing, theirs);
	for (size_t i = 0; i < length; i++)
		cell->setting[i] = (char)toupper((unsigned char)cell->setting[i]);
	cell->setting[length + 1] = (char)toupper((unsigned char)cell->setting[length + 1]);
}

const char *paper_cell_value(const struct paper_cell *cell, const char *quantity)
{
	return paper_value(PAPER_WU, cell->item, cell->setting, quantity);
}
