/* SPDX-License-Identifier: BSD-3-Clause */

#include "report/formats/format.h"
#include "base/assertion.h"

#define FORMAT_ENTRY(name, word) [FORMAT_##name] = &format_##word,
const struct format *const formats[FORMAT_COUNT] = {ROW_FORMATS(FORMAT_ENTRY)};

const char *format_name(const struct format *format)
{
#define FORMAT_WORD(name, word) [FORMAT_##name] = #word,
	static const char *const words[FORMAT_COUNT] = {ROW_FORMATS(FORMAT_WORD)};
	uint32_t f = 0;

	while (formats[f] != format)
		f++;
	return words[f];
}

static bool add_rows(struct text *text, size_t bytes, const struct format *format,
	const struct columns *columns, const struct report_epoch *epoch,
	struct format_cursor *cursor)
{
	struct output_row row = {
		.epoch = epoch, .measurement = &epoch->measurements[cursor->measurement]};
	const struct output_items items = columns->output->items(epoch, row.measurement);

	for (; cursor->item < items.n && text->len < bytes; cursor->item++) {
		row.item = (const char *)items.first + cursor->item * items.size;
		format->row(text, columns, &row);
	}
	ASSERT(cursor->item, <=, items.n);
	return cursor->item == items.n;
}

size_t format_some(struct text *text, size_t bytes, const struct format *format,
	const struct columns *columns, const struct report_epoch *epoch,
	struct format_cursor *cursor)
{
	const uint32_t parts = columns->output->of_epoch ? 1 : epoch->nb_measurements;
	size_t rows = 0;

	while (cursor->measurement < parts && text->len < bytes) {
		const size_t before = cursor->item;
		bool all = add_rows(text, bytes, format, columns, epoch, cursor);

		rows += cursor->item - before;
		if (all)
			*cursor = (struct format_cursor){.measurement = cursor->measurement + 1};
	}
	return rows;
}

void format_epoch(struct text *text, const struct format *format, const struct columns *columns,
	const struct report_epoch *epoch)
{
	struct format_cursor cursor = {0};

	format_some(text, SIZE_MAX, format, columns, epoch, &cursor);
}
