/* SPDX-License-Identifier: BSD-3-Clause */

/* --output: a CSV row for every reported key of every measurement. */

#include "report/csv.h"
#include "report/output.h"

static void heavy_hitters_header(struct text *text)
{
	text_str(text, CSV_ROW_HEADER ",rank");
	for (int f = 0; f < KEY_FIELD_COUNT; f++)
		csv_string(text, key_fields[f].name);
	text_str(text, ",packets,bytes,packets_low,packets_high,bytes_low,bytes_high"
		       ",confidence,share\n");
}

static void add_key(struct text *text, const struct key_rule *rule, const struct key *key)
{
	char field[KEY_FIELD_TEXT_MAX];

	for (int f = 0; f < KEY_FIELD_COUNT; f++) {
		csv_empty(text);
		if (rule->fields >> f & 1)
			text_add(text, field, key_field_print(key, (enum key_field_id)f, field));
	}
}

static void add_row(struct text *text, const struct report_epoch *epoch,
	const struct report_measurement *measurement, const struct report_row *row)
{
	const struct report_figure *packets = &row->packets, *bytes = &row->bytes;

	csv_row_begin(text, epoch, measurement);
	csv_u64(text, row->rank);
	add_key(text, measurement->rule, &row->key);
	csv_u64_if(text, packets->known, packets->value);
	csv_u64_if(text, bytes->known, bytes->value);
	csv_u64_if(text, packets->known, packets->low);
	csv_u64_if(text, packets->high_known, packets->high);
	csv_u64_if(text, bytes->known, bytes->low);
	csv_u64_if(text, bytes->high_known, bytes->high);
	/* 15 digits give every decimal fraction back as it was typed. */
	if (measurement->confidence_known)
		text_printf(text, ",%.15g", measurement->confidence);
	else
		csv_empty(text);
	if (packets->known)
		csv_ratio(text, row->share);
	else
		csv_empty(text);
	csv_row_end(text);
}

static void heavy_hitters_epoch(struct text *text, const struct report_epoch *epoch)
{
	for (uint32_t m = 0; m < epoch->nb_measurements; m++) {
		const struct report_measurement *measurement = &epoch->measurements[m];

		for (uint32_t r = 0; r < measurement->nb_rows; r++)
			add_row(text, epoch, measurement, &measurement->rows[r]);
	}
}

uint64_t output_reported_keys(const struct report_epoch *epoch)
{
	uint64_t rows = 0;

	for (uint32_t m = 0; m < epoch->nb_measurements; m++)
		rows += epoch->measurements[m].nb_rows;
	return rows;
}

const struct output output_heavy_hitters = {
	.option = "--output",
	.header = heavy_hitters_header,
	.epoch = heavy_hitters_epoch,
	.rows = output_reported_keys,
};
