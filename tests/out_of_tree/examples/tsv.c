/* SPDX-License-Identifier: BSD-3-Clause */

/* A toy format: values separated by tabs. */

#include "report/formats/format.h"

static void header(struct text *text, const struct columns *columns)
{
	for (uint32_t c = 0; c < columns->n; c++) {
		text_str(text, c > 0 ? "\t" : "");
		text_str(text, columns->list[c].name);
	}
	text_char(text, '\n');
}

static void row(struct text *text, const struct columns *columns, const struct output_row *row)
{
	for (uint32_t c = 0; c < columns->n; c++) {
		text_str(text, c > 0 ? "\t" : "");
		column_print(text, &columns->list[c], row);
	}
	text_char(text, '\n');
}

const struct format format_tsv = {
	.header = header,
	.row = row,
	.before_epoch = "",
	.before_start = "\t",
};
