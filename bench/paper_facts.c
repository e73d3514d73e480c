/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/paper_facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"
#include "bench/csv_table.h"
#include "bench/nassopoulos2014.h"
#include "bench/tangari2017.h"
#include "bench/wu2016.h"

#define PAPER(name)                                                                                \
	{                                                                                          \
		name, sizeof(name)                                                                 \
	}

static const struct {
	const unsigned char *text;
	size_t size;
} papers[] = {PAPER(tangari2017), PAPER(nassopoulos2014), PAPER(wu2016)};

#define PAPERS (sizeof(papers) / sizeof(papers[0]))

static const char *cell(const struct csv_table *table, uint32_t row, const char *column)
{
	return csv_table_cell(table, row, csv_table_column(table, column));
}

static bool find(const struct csv_table *table, const char *figure, const char *setting,
	const char *quantity, struct paper_fact *fact)
{
	for (uint32_t row = 1; row < table->nb_rows; row++) {
		if (strcmp(cell(table, row, "figure"), figure) != 0 ||
			strcmp(cell(table, row, "setting"), setting) != 0 ||
			strcmp(cell(table, row, "quantity"), quantity) != 0)
			continue;
		fact->none = cell(table, row, "none");
		fact->adaptive = cell(table, row, "adaptive");
		fact->exact = cell(table, row, "exact");
		return true;
	}
	return false;
}

bool paper_fact(
	const char *figure, const char *setting, const char *quantity, struct paper_fact *fact)
{
	static struct csv_table tables[PAPERS];

	*fact = (struct paper_fact){"", "", ""};
	for (size_t p = 0; p < PAPERS; p++) {
		if (tables[p].nb_rows == 0)
			csv_table_parse_embedded(&tables[p], papers[p].text, papers[p].size);
		if (find(&tables[p], figure, setting, quantity, fact))
			return true;
	}
	return false;
}

double paper_number(const char *figure, const char *setting, const char *quantity)
{
	struct paper_fact fact;

	bool known = paper_fact(figure, setting, quantity, &fact);

	VERIFY(known, ==, true);
	return strtod(fact.none, NULL);
}
