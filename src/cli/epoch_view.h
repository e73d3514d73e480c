/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * An epoch as seen by a client, from answers to /sketchtap/follow or from rows of --output. Missing
 * values are 0, NULL or marked unknown.
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
	const char *flow;                    /* text of all fields */
};

struct epoch_view_measurement {
	struct report_measurement values; /* without rows */
	const char *key;
	struct ledger ledger;        /* ledger of this measurement */
	struct epoch_view_row *rows; /* [nb_rows] */
	uint32_t nb_rows;
};

struct epoch_view_string;

struct epoch_view {
	uint64_t number;
	uint64_t closed; /* number of closed epochs, including this one; 0: unknown */
	int64_t start, end;
	bool has_ledger; /* the ledger is known; otherwise, only rows are */
	bool live, late;
	uint64_t took; /* processing time, ns, if packets have synthetic timestamps; otherwise 0 */
	uint64_t closing_ns, expired;
	struct ledger ledger;
	const char *design, *sharing;
	struct epoch_view_measurement *measurements; /* [nb_measurements] */
	uint32_t nb_measurements;
	struct report_port *ports; /* [nb_ports]: name, state and speed */
	uint32_t nb_ports;
	struct report_load *workers; /* [nb_workers] */
	uint32_t nb_workers;
	struct report_delivery *deliveries; /* [nb_deliveries], since the start of the run */
	uint32_t nb_deliveries;
	struct epoch_view_string *strings; /* all texts */
	bool failed;                       /* incomplete: out of memory */
};

/* Returns NULL if out of memory. */
struct epoch_view *epoch_view_alloc(void);
void epoch_view_free(struct epoch_view *epoch); /* NULL is allowed */

/* Add a zeroed item. Return NULL and mark the epoch as failed if out of memory. */
struct epoch_view_measurement *epoch_view_add_measurement(
	struct epoch_view *epoch, const char *name);
struct epoch_view_row *epoch_view_add_row(
	struct epoch_view *epoch, struct epoch_view_measurement *measurement);
/*
 * Returns a printable copy of text, which the epoch owns. Returns NULL and marks the epoch as
 * failed if out of memory.
 */
const char *epoch_view_copy(struct epoch_view *epoch, const char *text);

/* Values by name: members of a JSON object of the control socket, or columns of a CSV row. */
struct epoch_view_source {
	const char *(*text)(void *of, const char *name); /* "": unknown */
	void *of;
};

/* Reads a decimal number; 0 if `text` is empty. Returns false if it is malformed or too large. */
bool epoch_view_read_number(const char *text, uint64_t *value);

/* Read values that exist in the source. Return NULL, or the text of the first malformed number. */
const char *epoch_view_read(struct epoch_view *epoch, const struct epoch_view_source *source,
	const struct column *columns, void *item);
const char *epoch_view_read_ledger(const struct epoch_view_source *source, struct ledger *ledger);
const char *epoch_view_read_row(struct epoch_view *epoch,
	struct epoch_view_measurement *measurement, const struct epoch_view_source *source);

/* Adds one answer of /sketchtap/follow. Several answers make a large epoch complete. */
void epoch_view_add_answer(struct epoch_view *epoch, const struct json_node *answer);
/* Replaces the rows of a measurement by "rows" of /sketchtap/top. */
void epoch_view_set_rows(struct epoch_view *epoch, struct epoch_view_measurement *measurement,
	const struct json_node *rows);

/* Adds "rows" of /sketchtap/deliveries. Call it once. */
void epoch_view_add_deliveries(struct epoch_view *epoch, const struct json_node *rows);

/* Returns a measurement by name; NULL if there is none. */
struct epoch_view_measurement *epoch_view_find(const struct epoch_view *epoch, const char *name);

/*
 * Returns the packet counts of the run; of a single measurement, its own counts, which also include
 * packets that only its sketch left out under overload.
 */
const struct ledger *epoch_view_ledger(const struct epoch_view *epoch);

/* Returns the duration in ns; 0: unknown. */
uint64_t epoch_view_duration(const struct epoch_view *epoch);
/* Returns the ns to divide by for rates: the processing time if timestamps are synthetic. */
uint64_t epoch_view_rate_time(const struct epoch_view *epoch);
