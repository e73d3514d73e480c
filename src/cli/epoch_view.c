/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/epoch_view.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/printable.h"
#include "report/formats/table.h"
#include "report/rows/rows.h"

struct epoch_view_string {
	struct epoch_view_string *next;
	char text[];
};

struct epoch_view *epoch_view_alloc(void)
{
	return calloc(1, sizeof(struct epoch_view));
}

void epoch_view_free(struct epoch_view *epoch)
{
	if (epoch == NULL)
		return;
	for (uint32_t m = 0; m < epoch->nb_measurements; m++)
		free(epoch->measurements[m].rows);
	while (epoch->strings != NULL) {
		struct epoch_view_string *string = epoch->strings;

		epoch->strings = string->next;
		free(string);
	}
	free(epoch->measurements);
	free(epoch->ports);
	free(epoch->workers);
	free(epoch->deliveries);
	free(epoch);
}

static void *grow(struct epoch_view *epoch, void *array, uint32_t *n, size_t size)
{
	void **items = array, *grown = array_grow(*items, *n, size);

	if (grown == NULL) {
		epoch->failed = true;
		return NULL;
	}
	*items = grown;
	return memset((char *)grown + (*n)++ * size, 0, size);
}

const char *epoch_view_copy(struct epoch_view *epoch, const char *text)
{
	size_t size = strlen(text) + 1;
	struct epoch_view_string *copy = malloc(sizeof(*copy) + size);

	if (copy == NULL) {
		epoch->failed = true;
		return NULL;
	}
	make_printable(memcpy(copy->text, text, size));
	copy->next = epoch->strings;
	epoch->strings = copy;
	return copy->text;
}

struct epoch_view_measurement *epoch_view_add_measurement(
	struct epoch_view *epoch, const char *name)
{
	struct epoch_view_measurement *added = grow(
		epoch, &epoch->measurements, &epoch->nb_measurements, sizeof(*epoch->measurements));

	if (added != NULL)
		added->values.name = epoch_view_copy(epoch, name);
	return added;
}

struct epoch_view_row *epoch_view_add_row(
	struct epoch_view *epoch, struct epoch_view_measurement *measurement)
{
	return grow(epoch, &measurement->rows, &measurement->nb_rows, sizeof(*measurement->rows));
}

struct epoch_view_measurement *epoch_view_find(const struct epoch_view *epoch, const char *name)
{
	for (uint32_t m = 0; m < epoch->nb_measurements; m++)
		if (strcmp(epoch->measurements[m].values.name, name) == 0)
			return &epoch->measurements[m];
	return NULL;
}

const struct ledger *epoch_view_ledger(const struct epoch_view *epoch)
{
	return epoch->nb_measurements == 1 ? &epoch->measurements[0].ledger : &epoch->ledger;
}

uint64_t epoch_view_duration(const struct epoch_view *epoch)
{
	return epoch->end > epoch->start ? (uint64_t)epoch->end - (uint64_t)epoch->start : 0;
}

uint64_t epoch_view_rate_time(const struct epoch_view *epoch)
{
	return epoch->took > 0 ? epoch->took : epoch_view_duration(epoch);
}

bool epoch_view_read_number(const char *text, uint64_t *value)
{
	*value = 0;
	for (; *text != '\0'; text++) {
		uint64_t digit = (uint64_t)(*text - '0');

		if (digit > 9 || __builtin_mul_overflow(*value, 10, value) ||
			__builtin_add_overflow(*value, digit, value))
			return false;
	}
	return true;
}

static double read_fraction(const char *text)
{
	double value = strtod(text, NULL);

	return value >= 0 && value <= 1 ? value : 0;
}

static bool read_value(
	struct epoch_view *epoch, enum column_type type, const char *text, void *value)
{
	uint64_t number = 0;

	switch (type) {
	case COLUMN_U64: return epoch_view_read_number(text, value);
	case COLUMN_U32:
		if (!epoch_view_read_number(text, &number))
			return false;
		*(uint32_t *)value = (uint32_t)number;
		return true;
	case COLUMN_BOOL: *(bool *)value = strcmp(text, "0") != 0; return true;
	case COLUMN_INT: *(int *)value = atoi(text); return true;
	case COLUMN_TIME: text_read_time(text, value); return true;
	case COLUMN_RATIO:
	case COLUMN_EXACT: *(double *)value = read_fraction(text); return true;
	default: *(const char **)value = epoch_view_copy(epoch, text); return true;
	}
}

const char *epoch_view_read(struct epoch_view *epoch, const struct epoch_view_source *source,
	const struct column *columns, void *item)
{
	for (const struct column *column = columns; column->name != NULL; column++) {
		const char *text = source->text(source->of, column->name);

		if (*text == '\0' && column->type != COLUMN_STRING)
			continue;
		if (!read_value(epoch, column->type, text, (char *)item + column->at))
			return text;
		if (column->known != 0)
			*(bool *)((char *)item + column->known) = true;
	}
	return NULL;
}

const char *epoch_view_read_ledger(const struct epoch_view_source *source, struct ledger *ledger)
{
	for (uint32_t c = 0; c < LEDGER_COLUMNS; c++) {
		const char *text = source->text(source->of, ledger_columns[c].name);

		if (*text == '\0')
			continue;
		if (!epoch_view_read_number(
			    text, (uint64_t *)((char *)ledger + ledger_columns[c].offset)))
			return text;
		ledger->collected |= ledger_columns[c].when == LEDGER_COLLECTED;
		ledger->kept_up |= ledger_columns[c].when == LEDGER_KEPT_UP;
	}
	return NULL;
}

static void name_flow(struct epoch_view *epoch, struct epoch_view_row *row)
{
	struct text text = {0};

	table_flow_of(&text, row->fields);
	text_char(&text, '\0');
	epoch->failed |= text.failed;
	row->flow = text.failed ? NULL : epoch_view_copy(epoch, text.data);
	text_free(&text);
}

const char *epoch_view_read_row(struct epoch_view *epoch,
	struct epoch_view_measurement *measurement, const struct epoch_view_source *source)
{
	struct epoch_view_row *row = epoch_view_add_row(epoch, measurement);
	const char *malformed;

	if (row == NULL)
		return NULL;
	malformed = epoch_view_read(epoch, source, reply_row_columns, &row->values);
	for (uint32_t f = 0; f < KEY_FIELD_COUNT; f++) {
		const char *text = source->text(source->of, key_fields[f].name);

		/* In a flow record, which has a time "first", TCP flags are not part of the key. */
		if (*text != '\0' && (key_fields[f].column != KEY_COLUMN_RECORD ||
					     *source->text(source->of, "first") == '\0'))
			row->fields[f] = epoch_view_copy(epoch, text);
	}
	name_flow(epoch, row);
	return malformed;
}

static const char *text_of_part(void *part, const char *name)
{
	return json_value(part, name);
}

static struct epoch_view_source source_of(const struct json_node *part)
{
	return (struct epoch_view_source){text_of_part, (void *)(uintptr_t)part};
}

void epoch_view_set_rows(struct epoch_view *epoch, struct epoch_view_measurement *measurement,
	const struct json_node *rows)
{
	measurement->nb_rows = 0;
	free(measurement->rows);
	measurement->rows = NULL;
	for (const struct json_node *part = rows != NULL ? rows->first : NULL;
		part != NULL && !epoch->failed; part = part->next) {
		const struct epoch_view_source source = source_of(part);

		epoch_view_read_row(epoch, measurement, &source);
		if (!epoch->failed)
			measurement->rows[measurement->nb_rows - 1].values.rank =
				(uint32_t)strtoul(part->name, NULL, 10);
	}
}

static void read_ledger(const struct json_node *part, struct ledger *ledger)
{
	const struct epoch_view_source source = source_of(part);

	epoch_view_read_ledger(&source, ledger);
	if (json_find(part, "bytes") == NULL)
		ledger->missing_bytes = UINT64_MAX;
}

static void add_each(struct epoch_view *epoch, const struct json_node *several,
	const struct column *columns, void *array, uint32_t *n, size_t size)
{
	for (const struct json_node *part = several != NULL ? several->first : NULL; part != NULL;
		part = part->next) {
		const struct epoch_view_source source = source_of(part);
		void *item = grow(epoch, array, n, size);

		if (item != NULL)
			epoch_view_read(epoch, &source, columns, item);
	}
}

#define ADD_EACH(epoch, several, columns, array, n)                                                \
	add_each(epoch, several, columns, &(epoch)->array, &(epoch)->n, sizeof(*(epoch)->array))

static void add_measurement(struct epoch_view *epoch, const struct json_node *part)
{
	const struct epoch_view_source source = source_of(part);
	struct epoch_view_measurement *measurement =
		epoch_view_add_measurement(epoch, json_value(part, "name"));

	if (measurement == NULL)
		return;
	measurement->key = epoch_view_copy(epoch, json_value(part, "key"));
	measurement->values.sketch = epoch_view_copy(epoch, json_value(part, "sketch"));
	measurement->values.counts_bytes = strcmp(json_value(part, "count"), "bytes") == 0;
	read_ledger(part, &measurement->ledger);
	epoch_view_read(epoch, &source, reply_measurement_columns, &measurement->values);
	epoch_view_set_rows(epoch, measurement, json_find(part, "rows"));
}

#define HEAD(name, type, member)                                                                   \
	{                                                                                          \
		name, type, .at = offsetof(struct epoch_view, member)                              \
	}
static const struct column head_columns[] = {
	HEAD("epoch", COLUMN_U64, number),
	HEAD("closed", COLUMN_U64, closed),
	HEAD("start", COLUMN_TIME, start),
	HEAD("end", COLUMN_TIME, end),
	HEAD("live", COLUMN_BOOL, live),
	HEAD("late", COLUMN_BOOL, late),
	HEAD("processing_ns", COLUMN_U64, took),
	HEAD("closing_ns", COLUMN_U64, closing_ns),
	HEAD("expired_records", COLUMN_U64, expired),
	HEAD("doubtful", COLUMN_U64, ledger.doubtful),
	HEAD("design", COLUMN_STRING, design),
	HEAD("sharing", COLUMN_STRING, sharing),
	{0},
};

void epoch_view_add_deliveries(struct epoch_view *epoch, const struct json_node *rows)
{
	ADD_EACH(epoch, rows, reply_delivery_columns, deliveries, nb_deliveries);
}

void epoch_view_add_answer(struct epoch_view *epoch, const struct json_node *answer)
{
	const struct epoch_view_source source = source_of(answer);
	const struct json_node *measurements = json_find(answer, "measurements");

	if (!epoch->has_ledger) {
		epoch_view_read(epoch, &source, head_columns, epoch);
		read_ledger(answer, &epoch->ledger);
		epoch->ledger.losses_unknown = strcmp(json_value(answer, "losses_known"), "1") != 0;
		epoch->has_ledger = true;
	}
	for (const struct json_node *part = measurements != NULL ? measurements->first : NULL;
		part != NULL; part = part->next)
		add_measurement(epoch, part);
	ADD_EACH(epoch, json_find(answer, "ports"), reply_port_columns, ports, nb_ports);
	ADD_EACH(epoch, json_find(answer, "workers"), reply_load_columns, workers, nb_workers);
}
