/* SPDX-License-Identifier: BSD-3-Clause */

#include "report/output/format.h"

#define FORMAT_ENTRY(name, word) [FORMAT_##name] = &format_##word,
const struct format *const formats[FORMAT_COUNT] = {ROW_FORMATS(FORMAT_ENTRY)};

static void add_rows(struct text *text, const struct format *format, const struct columns *columns,
	struct output_row *row)
{
	const struct output_items items = columns->output->items(row->epoch, row->measurement);

	for (size_t i = 0; i < items.n; i++) {
		row->item = (const char *)items.first + i * items.size;
		format->row(text, columns, row);
	}
}

const char *format_name(const struct format *format)
{
#define FORMAT_WORD(name, word) [FORMAT_##name] = #word,
	static const char *const words[FORMAT_COUNT] = {ROW_FORMATS(FORMAT_WORD)};
	uint32_t f = 0;

	while (formats[f] != format)
		f++;
	return words[f];
}

void format_epoch(struct text *text, const struct format *format, const struct columns *columns,
	const struct report_epoch *epoch)
{
	uint32_t parts = columns->output->of_epoch ? 1 : epoch->nb_measurements;

	for (uint32_t m = 0; m < parts; m++) {
		struct output_row row = {.epoch = epoch, .measurement = &epoch->measurements[m]};

		add_rows(text, format, columns, &row);
	}
}
