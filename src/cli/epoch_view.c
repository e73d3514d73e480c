/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/epoch_view.h"

#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "report/formats/table.h"

/* --- memory --- */

struct epoch_view *epoch_view_alloc(void)
{
	return calloc(1, sizeof(struct epoch_view));
}

static void free_rows(struct epoch_view_measurement *measurement)
{
	for (uint32_t r = 0; r < measurement->nb_rows; r++) {
		for (uint32_t f = 0; f < KEY_FIELD_COUNT; f++)
			free(measurement->rows[r].fields[f]);
		free(measurement->rows[r].flow);
	}
	free(measurement->rows);
	measurement->rows = NULL;
	measurement->nb_rows = 0;
}

void epoch_view_free(struct epoch_view *epoch)
{
	if (epoch == NULL)
		return;
	for (uint32_t m = 0; m < epoch->nb_measurements; m++) {
		free_rows(&epoch->measurements[m]);
		free(epoch->measurements[m].name);
		free(epoch->measurements[m].key);
		free(epoch->measurements[m].sketch);
	}
	for (uint32_t p = 0; p < epoch->nb_ports; p++)
		free(epoch->ports[p].name);
	for (uint32_t d = 0; d < epoch->nb_deliveries; d++) {
		free(epoch->deliveries[d].name);
		free(epoch->deliveries[d].kind);
	}
	free(epoch->deliveries);
	free(epoch->measurements);
	free(epoch->ports);
	free(epoch->workers);
	free(epoch->design);
	free(epoch->sharing);
	free(epoch);
}

/*
 * Adds a zeroed item to an array of n. The array grows by doubling. Returns NULL if out of memory.
 */
static void *grow(struct epoch_view *epoch, void *array, uint32_t n, size_t size)
{
	void *grown = array;

	if ((n & (n - 1)) == 0)
		grown = realloc(array, (n > 0 ? 2 * (size_t)n : 1) * size);
	if (grown == NULL)
		epoch->failed = true;
	else
		memset((char *)grown + n * size, 0, size);
	return grown;
}

char *epoch_view_copy(struct epoch_view *epoch, const char *text)
{
	char *copy = strdup(text);

	if (copy != NULL)
		make_printable(copy);
	epoch->failed |= copy == NULL;
	return copy;
}

struct epoch_view_measurement *epoch_view_add_measurement(
	struct epoch_view *epoch, const char *name)
{
	struct epoch_view_measurement *grown = grow(
		epoch, epoch->measurements, epoch->nb_measurements, sizeof(*epoch->measurements));

	if (grown == NULL)
		return NULL;
	epoch->measurements = grown;
	grown += epoch->nb_measurements++;
	grown->name = epoch_view_copy(epoch, name);
	return grown;
}

struct epoch_view_row *epoch_view_add_row(
	struct epoch_view *epoch, struct epoch_view_measurement *measurement)
{
	struct epoch_view_row *grown =
		grow(epoch, measurement->rows, measurement->nb_rows, sizeof(*measurement->rows));

	if (grown == NULL)
		return NULL;
	measurement->rows = grown;
	return &grown[measurement->nb_rows++];
}

void epoch_view_name_flow(struct epoch_view *epoch, struct epoch_view_row *row)
{
	struct text text = {0};

	table_flow_of(&text, (const char *const *)row->fields);
	text_char(&text, '\0');
	epoch->failed |= text.failed;
	row->flow = text.failed ? NULL : epoch_view_copy(epoch, text.data);
	text_free(&text);
}

struct epoch_view_measurement *epoch_view_find(const struct epoch_view *epoch, const char *name)
{
	for (uint32_t m = 0; m < epoch->nb_measurements; m++)
		if (strcmp(epoch->measurements[m].name, name) == 0)
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

/* --- answers --- */

static uint64_t number(const struct json_node *node, const char *name)
{
	return strtoull(json_value(node, name), NULL, 10);
}

static double fraction(const struct json_node *node, const char *name)
{
	double value = strtod(json_value(node, name), NULL);

	return value >= 0 && value <= 1 ? value : 0;
}

static bool is_true(const struct json_node *node, const char *name)
{
	return number(node, name) != 0;
}

static void read_ledger(const struct json_node *node, struct ledger *ledger)
{
	for (uint32_t c = 0; c < LEDGER_COLUMNS; c++) {
		uint64_t *value = (uint64_t *)((char *)ledger + ledger_columns[c].offset);

		if (json_find(node, ledger_columns[c].name) == NULL)
			continue;
		*value = number(node, ledger_columns[c].name);
		ledger->collected |= ledger_columns[c].when == LEDGER_COLLECTED;
		ledger->kept_up |= ledger_columns[c].when == LEDGER_KEPT_UP;
	}
	if (json_find(node, "bytes") == NULL)
		ledger->missing_bytes = UINT64_MAX;
}

static struct report_figure read_figure(
	const struct json_node *node, const char *name, const char *low, const char *high)
{
	return (struct report_figure){
		.value = number(node, name),
		.low = number(node, low),
		.high = number(node, high),
		.known = json_find(node, name) != NULL,
		.high_known = json_find(node, high) != NULL,
	};
}

void epoch_view_set_rows(struct epoch_view *epoch, struct epoch_view_measurement *measurement,
	const struct json_node *rows)
{
	free_rows(measurement);
	for (const struct json_node *part = rows != NULL ? rows->first : NULL; part != NULL;
		part = part->next) {
		struct epoch_view_row *row = epoch_view_add_row(epoch, measurement);

		if (row == NULL)
			return;
		row->rank = (uint32_t)strtoul(part->name, NULL, 10);
		for (uint32_t f = 0; f < KEY_FIELD_COUNT; f++)
			if (json_find(part, key_fields[f].name) != NULL)
				row->fields[f] = epoch_view_copy(
					epoch, json_value(part, key_fields[f].name));
		row->packets = read_figure(part, "packets", "packets_low", "packets_high");
		row->bytes = read_figure(part, "bytes", "bytes_low", "bytes_high");
		row->share = fraction(part, "share");
		epoch_view_name_flow(epoch, row);
	}
}

static void add_measurement(struct epoch_view *epoch, const struct json_node *part)
{
	struct epoch_view_measurement *measurement =
		epoch_view_add_measurement(epoch, json_value(part, "name"));

	if (measurement == NULL)
		return;
	measurement->key = epoch_view_copy(epoch, json_value(part, "key"));
	measurement->sketch = epoch_view_copy(epoch, json_value(part, "sketch"));
	measurement->counts_bytes = strcmp(json_value(part, "count"), "bytes") == 0;
	read_ledger(part, &measurement->ledger);
	measurement->distinct_keys = number(part, "distinct_keys");
	measurement->distinct_exact = is_true(part, "distinct_exact");
	measurement->incomplete = is_true(part, "incomplete");
	measurement->confidence_known = json_find(part, "confidence") != NULL;
	measurement->confidence = fraction(part, "confidence");
	measurement->looked_at = fraction(part, "looked_at");
	measurement->weight = number(part, "weight");
	epoch_view_set_rows(epoch, measurement, json_find(part, "rows"));
}

static void add_port(struct epoch_view *epoch, const struct json_node *part)
{
	struct epoch_view_port *grown =
		grow(epoch, epoch->ports, epoch->nb_ports, sizeof(*epoch->ports));

	if (grown == NULL)
		return;
	epoch->ports = grown;
	grown[epoch->nb_ports++] = (struct epoch_view_port){
		.name = epoch_view_copy(epoch, json_value(part, "name")),
		.up = is_true(part, "up"),
		.speed = (uint32_t)number(part, "speed_mbits"),
	};
}

static void add_worker(struct epoch_view *epoch, const struct json_node *part)
{
	struct report_load *grown =
		grow(epoch, epoch->workers, epoch->nb_workers, sizeof(*epoch->workers));

	if (grown == NULL)
		return;
	epoch->workers = grown;
	grown[epoch->nb_workers++] = (struct report_load){
		.lcore = (uint32_t)number(part, "lcore"),
		.cpu = atoi(json_value(part, "cpu")),
		.received = number(part, "received"),
		.measured = number(part, "measured"),
		.ring_full = number(part, "ring_full"),
		.bytes = number(part, "bytes"),
		.busy_ns = number(part, "busy_ns"),
		.skipped = number(part, "skipped"),
		.backlog_max = number(part, "backlog_max"),
		.level_max = number(part, "level_max"),
	};
}

static void add_delivery(struct epoch_view *epoch, const struct json_node *part)
{
	struct epoch_view_delivery *grown =
		grow(epoch, epoch->deliveries, epoch->nb_deliveries, sizeof(*epoch->deliveries));

	if (grown == NULL)
		return;
	epoch->deliveries = grown;
	grown[epoch->nb_deliveries++] = (struct epoch_view_delivery){
		.name = epoch_view_copy(epoch, json_value(part, "export")),
		.kind = epoch_view_copy(epoch, json_value(part, "kind")),
		.rows = number(part, "rows"),
		.delivered = number(part, "delivered"),
		.acknowledged = number(part, "acknowledged"),
		.failed = number(part, "failed"),
		.unknown = number(part, "unknown"),
		.dropped = number(part, "dropped"),
		.waiting = number(part, "waiting"),
	};
}

static void read_head(struct epoch_view *epoch, const struct json_node *answer)
{
	epoch->number = number(answer, "epoch");
	epoch->closed = number(answer, "closed");
	text_read_time(json_value(answer, "start"), &epoch->start);
	text_read_time(json_value(answer, "end"), &epoch->end);
	epoch->live = is_true(answer, "live");
	epoch->late = is_true(answer, "late");
	epoch->took = number(answer, "processing_ns");
	epoch->closing_ns = number(answer, "closing_ns");
	epoch->expired = number(answer, "expired_records");
	read_ledger(answer, &epoch->ledger);
	epoch->ledger.doubtful = number(answer, "doubtful");
	epoch->ledger.losses_unknown = !is_true(answer, "losses_known");
	epoch->design = epoch_view_copy(epoch, json_value(answer, "design"));
	epoch->sharing = epoch_view_copy(epoch, json_value(answer, "sharing"));
	epoch->told_account = true;
}

static void add_each(struct epoch_view *epoch, const struct json_node *several,
	void (*add)(struct epoch_view *epoch, const struct json_node *part))
{
	if (several == NULL)
		return;
	for (const struct json_node *part = several->first; part != NULL; part = part->next)
		add(epoch, part);
}

void epoch_view_add_deliveries(struct epoch_view *epoch, const struct json_node *rows)
{
	add_each(epoch, rows, add_delivery);
}

void epoch_view_add_answer(struct epoch_view *epoch, const struct json_node *answer)
{
	if (!epoch->told_account)
		read_head(epoch, answer);
	add_each(epoch, json_find(answer, "measurements"), add_measurement);
	add_each(epoch, json_find(answer, "ports"), add_port);
	add_each(epoch, json_find(answer, "workers"), add_worker);
}
