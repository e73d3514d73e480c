/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Prints an epoch in a format, for tests. */

#include <stdlib.h>

#include "report/formats/format.h"

static inline struct columns *some_columns(
	const struct format *format, const struct output *output, uint32_t fields)
{
	struct columns *columns = columns_of(
		output, &(struct column_choice){.key_fields = fields, .named = format->named});

	if (columns == NULL)
		abort();
	return columns;
}

static inline void print_header(struct text *text, const struct format *format,
	const struct output *output, uint32_t fields)
{
	struct columns *columns = some_columns(format, output, fields);

	if (format->header != NULL)
		format->header(text, columns);
	free(columns);
}

static inline void print_epoch(struct text *text, const struct format *format,
	const struct output *output, const struct report_epoch *epoch)
{
	struct columns *columns = some_columns(format, output, report_key_fields(epoch));

	format_epoch(text, format, columns, epoch);
	free(columns);
}
