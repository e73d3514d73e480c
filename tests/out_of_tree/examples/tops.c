/* SPDX-License-Identifier: BSD-3-Clause */

/* A toy kind of rows: the number of rows in the top of each measurement. */

#include "report/rows/rows.h"

static const struct column columns[] = {
	EPOCH_NUMBER,
	MEASUREMENT_NAME,
	MEASUREMENT_COLUMN("top_rows", COLUMN_U32, nb_rows),
};

static struct output_items items(
	const struct report_epoch *epoch, const struct report_measurement *measurement)
{
	(void)epoch;
	return (struct output_items){measurement, 1, sizeof(*measurement)};
}

const struct output output_tops = {
	OUTPUT_PART(TOPS, "tops", "tops", .help = "The toy: write the number of rows of --output."),
	OUTPUT_COLUMNS(columns),
	.items = items,
};
