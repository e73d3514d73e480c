/* SPDX-License-Identifier: BSD-3-Clause */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"
#include "base/identity.h"
#include "base/router_names.h"
#include "report/rows/rows.h"
#include "sketch/sketch.h"

#define OUTPUT_ROW(name, word) [ROWS_##name] = &output_##word,
const struct output *const outputs[ROW_KINDS] = {ROW_KIND_NAMES(OUTPUT_ROW)};

const char *output_word_of(const struct output *output)
{
	return output->word;
}

const char *output_word(enum row_kind kind)
{
	return output_word_of(outputs[kind]);
}

const char *column_names_word(uint32_t i)
{
	static const char *const words[] = {
		[COLUMN_NAMES_OURS] = "sketchtap", [COLUMN_NAMES_GOFLOW2] = "goflow2"};

	return i < sizeof(words) / sizeof(words[0]) ? words[i] : NULL;
}

uint64_t output_rows(const struct output *output, const struct report_epoch *epoch)
{
	uint32_t parts = output->of_epoch ? 1 : epoch->nb_measurements;
	uint64_t rows = 0;

	for (uint32_t m = 0; m < parts; m++)
		rows += output->items(epoch, &epoch->measurements[m]).n;
	return rows;
}

size_t output_bytes(const struct report_epoch *epoch)
{
	size_t bytes = sizeof(*epoch);

	for (enum row_kind kind = 0; kind < ROW_KINDS; kind++) {
		uint32_t parts = outputs[kind]->of_epoch ? 1 : epoch->nb_measurements;

		for (uint32_t m = 0; m < parts; m++) {
			struct output_items items =
				outputs[kind]->items(epoch, &epoch->measurements[m]);

			bytes += items.n * items.size;
		}
	}
	if (epoch->collected != NULL)
		bytes += epoch->collected->payload_bytes;
	for (uint32_t m = 0; m < epoch->nb_measurements; m++)
		if (epoch->measurements[m].figures != NULL)
			bytes += epoch->measurements[m].nb_flows *
				 sizeof(epoch->measurements[m].figures[0]);
	return bytes;
}

void columns_add(struct columns *columns, const struct column *column)
{
	struct column *added = &columns->list[columns->n++];

	*added = *column;
	added->label_len =
		(uint32_t)snprintf(added->label, sizeof(added->label), ",\"%s\":", column->name);
	VERIFY(added->label_len, <, sizeof(added->label));
}

static bool keeps_records(const struct report_measurement *measurement)
{
	const struct sketch_ops *ops =
		measurement->sketch != NULL ? sketch_find(measurement->sketch) : NULL;

	return ops != NULL && (ops->caps & SKETCH_RECORDS) != 0;
}

struct column_choice column_choice_every(enum column_names names)
{
	return (struct column_choice){
		.key_fields = UINT32_MAX,
		.records = true,
		.collected = true,
		.kept_up = true,
		.deep = true,
		.sink = true,
		.named = true,
		.names = names,
	};
}

struct column_choice column_choice_of(const struct report_epoch *epoch)
{
	struct column_choice choice = {.key_fields = report_key_fields(epoch)};

	choice.records = key_fields_of(choice.key_fields, KEY_COLUMN_RECORD) != 0;
	choice.collected = epoch->ledger.collected;
	choice.kept_up = epoch->ledger.kept_up;
	for (uint32_t m = 0; m < epoch->nb_measurements; m++) {
		choice.records |= keeps_records(&epoch->measurements[m]);
		choice.deep |= epoch->measurements[m].deep;
	}
	return choice;
}

static bool is_chosen(const struct column *column, const struct column_choice *choice)
{
	return (column->when != COLUMN_RECORDS || choice->records) &&
	       (column->when != COLUMN_COLLECTED || choice->collected) &&
	       (column->when != COLUMN_KEPT_UP || choice->kept_up) &&
	       (column->when != COLUMN_DEEP || choice->deep) &&
	       (column->when != COLUMN_SINK || choice->sink) &&
	       (column->when != COLUMN_NO_FILE || choice->sink || choice->answer) &&
	       (column->when != COLUMN_NAMED || choice->named);
}

static bool is_fixed(const struct column *column)
{
	return column->when != COLUMN_RECORDS && column->when != COLUMN_DEEP &&
	       column->expand != columns_add_asked_key;
}

COLUMN_PRINTER(print_host)
{
	text_str(text, identity_host());
}

COLUMN_PRINTER(print_run)
{
	text_str(text, identity_run());
}

/* These columns identify a row among all hosts and runs. */
static const struct column identity[] = {
	{"host", COLUMN_TEXT, .print = print_host},
	{"run", COLUMN_WORD, .print = print_run},
};

#define IDENTITY_COLUMNS (sizeof(identity) / sizeof(identity[0]))

struct columns *columns_of(const struct output *output, const struct column_choice *choice)
{
	const struct column_table ours = {output->columns, output->nb_columns};
	bool identified = choice->sink && choice->names == COLUMN_NAMES_OURS;
	const struct column_table *table =
		choice->names == COLUMN_NAMES_GOFLOW2 ? output->goflow2 : &ours;
	size_t max = (size_t)table->n * COLUMNS_EXPANDED + IDENTITY_COLUMNS;
	struct columns *columns = malloc(sizeof(*columns) + max * sizeof(columns->list[0]));
	bool fixed = true;

	if (columns == NULL)
		return NULL;
	*columns = (struct columns){.output = output, .choice = *choice};
	for (uint32_t c = 0; c < table->n; c++) {
		const struct column *column = &table->columns[c];

		columns->varies |= !is_fixed(column);
		if (!is_chosen(column, choice))
			continue;
		if (column->expand != NULL)
			column->expand(columns, column);
		else
			columns_add(columns, column);
		fixed &= is_fixed(column);
		if (fixed)
			columns->nb_fixed = columns->n;
	}
	for (uint32_t c = 0; identified && c < IDENTITY_COLUMNS; c++)
		columns_add(columns, &identity[c]);
	VERIFY(columns->n, <=, max);
	return columns;
}

static const char *position_of(const struct column *column, const struct output_row *row)
{
	switch (column->place) {
	case COLUMN_OF_EPOCH: return (const char *)row->epoch;
	case COLUMN_OF_MEASUREMENT: return (const char *)row->measurement;
	default: return row->item;
	}
}

const void *column_at(const struct column *column, const struct output_row *row)
{
	return position_of(column, row) + column->at;
}

static bool is_known(const struct column *column, const struct output_row *row)
{
	return column->known == 0 || *(const bool *)(position_of(column, row) + column->known);
}

static void print_figure(struct text *text, enum column_type type, const void *at)
{
	switch (type) {
	case COLUMN_U64: return text_u64(text, *(const uint64_t *)at);
	case COLUMN_U32: return text_u64(text, *(const uint32_t *)at);
	case COLUMN_U8: return text_u64(text, *(const uint8_t *)at);
	case COLUMN_INT: return text_printf(text, "%d", *(const int *)at);
	case COLUMN_BOOL: return text_u64(text, *(const bool *)at);
	case COLUMN_TIME: return text_time(text, *(const int64_t *)at);
	case COLUMN_RATIO: return text_printf(text, "%.6f", *(const double *)at);
	case COLUMN_EXACT: /* 15 digits print a decimal fraction as the user typed it */
		return text_printf(text, "%.15g", *(const double *)at);
	case COLUMN_STRING: return text_str(text, *(const char *const *)at);
	case COLUMN_CHARS:
	case COLUMN_FOREIGN: return text_str(text, at);
	case COLUMN_NUMBER:
	case COLUMN_FRACTION:
	case COLUMN_TEXT:
	case COLUMN_WORD: return;
	}
}

void column_print(struct text *text, const struct column *column, const struct output_row *row)
{
	if (!is_known(column, row))
		return;
	if (column->print != NULL)
		column->print(text, column, row);
	else
		print_figure(text, column->type, column_at(column, row));
}

void print_key_text(
	struct text *text, const struct key_rule *rule, const struct key *key, enum key_field_id id)
{
	if (text_reserve(text, KEY_FIELD_TEXT_MAX))
		text->len += key_field_print(rule, key, id, text->data + text->len);
}

void print_router(struct text *text, uint32_t exporter)
{
	char name[ROUTER_NAME_MAX];

	router_name_get(exporter, name);
	text_str(text, name);
}

COLUMN_PRINTER(print_key_field)
{
	const struct key_rule *rule = row->measurement->key_rule;
	enum key_field_id id = (enum key_field_id)column->index;

	if (key_rule_has(rule, id))
		print_key_text(text, rule, column_at(column, row), id);
}

enum column_type key_column_type(enum key_field_id id)
{
	static const enum column_type types[] = {
		[KEY_FIELD_NUMBER] = COLUMN_NUMBER,
		[KEY_FIELD_ADDRESS] = COLUMN_WORD,
		[KEY_FIELD_ROUTER] = COLUMN_TEXT,
	};

	return types[key_fields[id].type];
}

static void add_key_fields(struct columns *columns, const struct column *column, uint32_t fields)
{
	static_assert(KEY_FIELD_COUNT <= COLUMNS_EXPANDED, "a column each");

	for (; fields != 0; fields &= fields - 1) {
		enum key_field_id id = (enum key_field_id)__builtin_ctz(fields);
		const struct key_field *field = &key_fields[id];

		columns_add(columns, &(struct column){
					     .name = field->name,
					     .type = key_column_type(id),
					     .at = column->at,
					     .index = id,
					     .print = print_key_field,
				     });
	}
}

void columns_add_key(struct columns *columns, const struct column *column)
{
	add_key_fields(columns, column, key_fields_of(UINT32_MAX, KEY_COLUMN_ALWAYS));
}

void columns_add_asked_key(struct columns *columns, const struct column *column)
{
	add_key_fields(
		columns, column, key_fields_of(columns->choice.key_fields, KEY_COLUMN_ASKED));
}

void columns_suit(struct columns **columns, const struct report_epoch *epoch)
{
	struct column_choice choice = column_choice_of(epoch);
	const struct column_choice *before = &(*columns)->choice;
	struct columns *suited;

	if (choice.key_fields == before->key_fields && choice.records == before->records &&
		choice.deep == before->deep)
		return;
	choice.sink = before->sink;
	choice.named = before->named;
	choice.names = before->names;
	suited = columns_of((*columns)->output, &choice);
	if (suited == NULL)
		return;
	free(*columns);
	*columns = suited;
}
