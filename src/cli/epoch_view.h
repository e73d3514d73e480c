/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * An epoch as a client knows it, from answers of the control socket or from rows of --output.
 * Missing values are 0, NULL or marked unknown.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "cli/json_tree.h"
#include "report/rows/report.h"

struct column;

struct epoch_view_row {
	struct report_row values;            /* without key */
	const char *fields[KEY_FIELD_COUNT]; /* such as "192.0.2.1"; NULL: not in the key */
	const char *flow;
};

struct epoch_view_measurement {
	struct report_measurement values; /* without rows */
	const char *key;
	struct ledger ledger;
	struct epoch_view_row *rows;
	uint32_t nb_rows;
};

struct epoch_view_string;

struct epoch_view {
	uint64_t number;
	uint64_t closed; /* epochs since the start of the run; 0: unknown */
	int64_t start, end;
	bool has_ledger; /* false: only rows are known */
	bool live, late;
	uint64_t took; /* ns to process synthetic packets; 0 for real ones */
	uint64_t closing_ns, expired;
	struct ledger ledger;
	const char *design, *sharing;
	struct epoch_view_measurement *measurements;
	uint32_t nb_measurements;
	struct report_port *ports; /* only name, state and speed are known */
	uint32_t nb_ports;
	struct report_load *workers;
	uint32_t nb_workers;
	struct report_delivery *deliveries; /* counts since the start of the run */
	uint32_t nb_deliveries;
	struct epoch_view_string *strings;
	bool failed; /* memory ran out; incomplete */
};

struct epoch_view *epoch_view_alloc(void);
void epoch_view_free(struct epoch_view *epoch);

/* Add a zeroed item. On lack of memory, set epoch->failed and return NULL. */
struct epoch_view_measurement *epoch_view_add_measurement(
	struct epoch_view *epoch, const char *name);
struct epoch_view_row *epoch_view_add_row(
	struct epoch_view *epoch, struct epoch_view_measurement *measurement);
/*
 * Returns a copy that the epoch owns, with unprintable characters replaced. On lack of memory, sets
 * epoch->failed and returns NULL.
 */
const char *epoch_view_copy(struct epoch_view *epoch, const char *text);

/* Values by name: of a JSON object, or of a CSV row. */
struct epoch_view_source {
	const char *(*text)(void *of, const char *name);
	void *of;
};

/* An empty text gives 0. Returns false if the number is malformed or too large. */
bool epoch_view_read_number(const char *text, uint64_t *value);

/* Return the text of the first malformed number, or NULL. */
const char *epoch_view_read(struct epoch_view *epoch, const struct epoch_view_source *source,
	const struct column *columns, void *item);
const char *epoch_view_read_ledger(const struct epoch_view_source *source, struct ledger *ledger);
const char *epoch_view_read_row(struct epoch_view *epoch,
	struct epoch_view_measurement *measurement, const struct epoch_view_source *source);

/* A large epoch needs several answers of /sketchtap/follow. */
void epoch_view_add_answer(struct epoch_view *epoch, const struct json_node *answer);
void epoch_view_set_rows(struct epoch_view *epoch, struct epoch_view_measurement *measurement,
	const struct json_node *rows);

/* rows: member of an answer of /sketchtap/deliveries. */
void epoch_view_add_deliveries(struct epoch_view *epoch, const struct json_node *rows);

struct epoch_view_measurement *epoch_view_find(const struct epoch_view *epoch, const char *name);

/*
 * Returns the packet counts of the run. If there is only one measurement, returns its own counts,
 * which include packets that only its sketch dropped.
 */
const struct ledger *epoch_view_ledger(const struct epoch_view *epoch);

uint64_t epoch_view_duration(const struct epoch_view *epoch);
/* Returns ns. For synthetic packets, this is the time for processing them. */
uint64_t epoch_view_rate_time(const struct epoch_view *epoch);
