/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * An epoch as who looks at a run from outside has it: from answers to /sketchtap/follow, or from
 * rows of --output. What was not told is 0, NULL or not known.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "cli/json_tree.h"
#include "report/rows/report.h"

struct epoch_view_row {
	uint32_t rank;
	char *fields[KEY_FIELD_COUNT]; /* as outputs have them; NULL: not of the key */
	char *flow;                    /* all of them, for a person */
	struct report_figure packets, bytes;
	double share;
};

struct epoch_view_measurement {
	char *name, *key, *sketch;
	bool counts_bytes;
	struct ledger ledger; /* as it sees it */
	uint64_t distinct_keys, weight;
	bool distinct_exact, incomplete, confidence_known;
	double confidence, looked_at;
	struct epoch_view_row *rows; /* [nb_rows] */
	uint32_t nb_rows;
};

struct epoch_view_port {
	char *name;
	bool up;
	uint32_t speed; /* Mbit/s; 0: not known */
};

/* What became of rows at a place, since the run began. */
struct epoch_view_delivery {
	char *name, *kind;
	uint64_t rows, delivered, acknowledged, failed, unknown, dropped, waiting;
};

struct epoch_view {
	uint64_t number;
	uint64_t closed; /* how many were closed then; 0: not told */
	int64_t start, end;
	bool told_account; /* the ledger and what is about it; else there are rows alone */
	bool live, late;
	uint64_t took; /* ns, where time stamps are generated (struct report_epoch); else 0 */
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
	bool failed; /* there was no memory for all of it */
};

/* NULL where there is no memory. */
struct epoch_view *epoch_view_alloc(void);
void epoch_view_free(struct epoch_view *epoch); /* NULL is allowed */

/* Further ones, all 0; NULL, and the epoch marked failed, where there is no memory. */
struct epoch_view_measurement *epoch_view_add_measurement(
	struct epoch_view *epoch, const char *name);
struct epoch_view_row *epoch_view_add_row(
	struct epoch_view *epoch, struct epoch_view_measurement *measurement);
/* A copy, made printable; NULL, and marked, where there is no memory. */
char *epoch_view_copy(struct epoch_view *epoch, const char *text);
/* When all fields of the row are there. */
void epoch_view_name_flow(struct epoch_view *epoch, struct epoch_view_row *row);

/* What an answer says of the epoch: its head, and the parts that are in it. */
void epoch_view_add_answer(struct epoch_view *epoch, const struct json_node *answer);
/* The same of rows alone ("rows" of /sketchtap/top), in the place of those that there are. */
void epoch_view_set_rows(struct epoch_view *epoch, struct epoch_view_measurement *measurement,
	const struct json_node *rows);

/* The same of "rows" of /sketchtap/deliveries, once. */
void epoch_view_add_deliveries(struct epoch_view *epoch, const struct json_node *rows);

/* NULL: there is none of the name. */
struct epoch_view_measurement *epoch_view_find(const struct epoch_view *epoch, const char *name);

/* The account as the one measurement sees it, with what its sketch shed; of several, the run's. */
const struct ledger *epoch_view_ledger(const struct epoch_view *epoch);

/* Nanoseconds; 0: not known. */
uint64_t epoch_view_duration(const struct epoch_view *epoch);
/* The same for rates: what the machine took where time stamps are generated. */
uint64_t epoch_view_rate_time(const struct epoch_view *epoch);
