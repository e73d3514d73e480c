/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * An epoch as seen by a client: from answers to /sketchtap/follow, or from rows of --output.
 * Missing values are 0, NULL or marked unknown.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "cli/json_tree.h"
#include "report/rows/report.h"

struct epoch_view_row {
	uint32_t rank;
	char *fields[KEY_FIELD_COUNT]; /* text as in outputs; NULL: not in the key */
	char *flow;                    /* text of all fields */
	struct report_figure packets, bytes;
	double share;
};

struct epoch_view_measurement {
	char *name, *key, *sketch;
	bool counts_bytes;
	struct ledger ledger; /* ledger of this measurement */
	uint64_t distinct_keys, weight;
	bool distinct_exact, incomplete, confidence_known;
	double confidence, looked_at;
	struct epoch_view_row *rows; /* [nb_rows] */
	uint32_t nb_rows;
};

struct epoch_view_port {
	char *name;
	bool up;
	uint32_t speed; /* Mbit/s; 0: unknown */
};

/* Delivery counts of an export since the start of the run. */
struct epoch_view_delivery {
	char *name, *kind;
	uint64_t rows, delivered, acknowledged, failed, unknown, dropped, waiting;
};

struct epoch_view {
	uint64_t number;
	uint64_t closed; /* number of closed epochs, including this one; 0: unknown */
	int64_t start, end;
	bool told_account; /* the ledger is known; else there are only rows */
	bool live, late;
	/* ns of processing, if timestamps are generated (struct report_epoch); else 0 */
	uint64_t took;
	uint64_t closing_ns, expired;
	struct ledger ledger;
	char *design, *sharing;
	struct epoch_view_measurement *measurements; /* [nb_measurements] */
	uint32_t nb_measurements;
	struct epoch_view_port *ports; /* [nb_ports] */
	uint32_t nb_ports;
	struct report_load *workers; /* [nb_workers] */
	uint32_t nb_workers;
	struct epoch_view_delivery *deliveries; /* [nb_deliveries] */
	uint32_t nb_deliveries;
	bool failed; /* incomplete: out of memory */
};

/* Returns NULL if out of memory. */
struct epoch_view *epoch_view_alloc(void);
void epoch_view_free(struct epoch_view *epoch); /* NULL is allowed */

/* Add a zeroed item. Return NULL and mark the epoch as failed if out of memory. */
struct epoch_view_measurement *epoch_view_add_measurement(
	struct epoch_view *epoch, const char *name);
struct epoch_view_row *epoch_view_add_row(
	struct epoch_view *epoch, struct epoch_view_measurement *measurement);
/* Returns a printable copy of text. Returns NULL and marks the epoch as failed if out of memory. */
char *epoch_view_copy(struct epoch_view *epoch, const char *text);
/* Builds row->flow from all fields. Call it after they are set. */
void epoch_view_name_flow(struct epoch_view *epoch, struct epoch_view_row *row);

/* Adds an answer: head of the epoch, and some of its parts. */
void epoch_view_add_answer(struct epoch_view *epoch, const struct json_node *answer);
/* Replaces the rows of a measurement by "rows" of /sketchtap/top. */
void epoch_view_set_rows(struct epoch_view *epoch, struct epoch_view_measurement *measurement,
	const struct json_node *rows);

/* Adds "rows" of /sketchtap/deliveries. Call it once. */
void epoch_view_add_deliveries(struct epoch_view *epoch, const struct json_node *rows);

/* Returns a measurement by name; NULL if there is none. */
struct epoch_view_measurement *epoch_view_find(const struct epoch_view *epoch, const char *name);

/*
 * Returns the ledger of the only measurement, with the packets that its sketch shed; of several
 * measurements, that of the run.
 */
const struct ledger *epoch_view_ledger(const struct epoch_view *epoch);

/* Returns the duration in ns; 0: unknown. */
uint64_t epoch_view_duration(const struct epoch_view *epoch);
/* Returns the ns to compute rates with: the processing time if timestamps are generated. */
uint64_t epoch_view_rate_time(const struct epoch_view *epoch);
