/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * --output: a CSV row for every reported key of every measurement. Where a measurement keeps flow
 * records, or its key has a field that is a column of theirs, three more columns say so behind the
 * others; and behind them stands what else keys have (KEY_COLUMN_ASKED).
 */

#include "report/output/csv.h"
#include "report/output/output.h"

static void add_header(struct text *text)
{
	text_str(text, CSV_ROW_HEADER ",rank");
	csv_key_names(text);
	text_str(text, ",packets,bytes,packets_low,packets_high,bytes_low,bytes_high"
		       ",confidence,share");
}

static void heavy_hitters_header(struct text *text, uint32_t fields)
{
	add_header(text);
	csv_key_asked_names(text, fields);
	csv_row_end(text);
}

static void flow_records_header(struct text *text, uint32_t fields)
{
	add_header(text);
	text_str(text, ",first,last,tcp_flags");
	csv_key_asked_names(text, fields);
	csv_row_end(text);
}

static void add_row(struct text *text, const struct report_epoch *epoch,
	const struct report_measurement *measurement, const struct report_row *row)
{
	const struct report_figure *packets = &row->packets, *bytes = &row->bytes;

	csv_row_begin(text, epoch, measurement);
	csv_u64(text, row->rank);
	csv_key(text, measurement->rule, &row->key);
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
	csv_ratio(text, row->share);
}

/* first, last, tcp_flags: the last is the key's where there is no record. */
static void add_record(struct text *text, const struct key_rule *rule, const struct report_row *row)
{
	const struct report_record *record = &row->record;
	uint32_t field = key_fields_of(rule->fields, KEY_COLUMN_RECORD);
	char value[KEY_FIELD_TEXT_MAX];

	csv_empty(text);
	if (record->known)
		text_time(text, record->first);
	csv_empty(text);
	if (record->known)
		text_time(text, record->last);
	csv_empty(text);
	if (record->known)
		text_u64(text, record->tcp_flags);
	else if (field != 0)
		text_add(text, value,
			key_field_print(
				rule, &row->key, (enum key_field_id)__builtin_ctz(field), value));
}

static void add_rows(struct text *text, const struct report_epoch *epoch, bool records)
{
	uint32_t fields = report_key_fields(epoch);

	for (uint32_t m = 0; m < epoch->nb_measurements; m++) {
		const struct report_measurement *measurement = &epoch->measurements[m];

		for (uint32_t r = 0; r < measurement->nb_rows; r++) {
			add_row(text, epoch, measurement, &measurement->rows[r]);
			if (records)
				add_record(text, measurement->rule, &measurement->rows[r]);
			csv_key_asked(text, fields, measurement->rule, &measurement->rows[r].key);
			csv_row_end(text);
		}
	}
}

static void heavy_hitters_epoch(struct text *text, const struct report_epoch *epoch)
{
	add_rows(text, epoch, false);
}

static void flow_records_epoch(struct text *text, const struct report_epoch *epoch)
{
	add_rows(text, epoch, true);
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

const struct output output_flow_records = {
	.option = "--output",
	.header = flow_records_header,
	.epoch = flow_records_epoch,
	.rows = output_reported_keys,
};
