/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What an output does with an epoch: how it looks as text. Where the text goes is output_file.h. */

#include <stdint.h>

#include "report/output/report.h"
#include "report/output/text.h"

struct output {
	const char *option; /* the option that names its file */
	/* The first line of a file, in a run whose keys have these fields, a bit each; NULL: it has
	 * none. */
	void (*header)(struct text *text, uint32_t fields);
	/* Appends all that the epoch says. */
	void (*epoch)(struct text *text, const struct report_epoch *epoch);
	/* How many rows that is, for the account of lost ones. */
	uint64_t (*rows)(const struct report_epoch *epoch);
};

extern const struct output output_heavy_hitters; /* heavy_hitters.c: CSV, a row per reported key */
extern const struct output output_flow_records;  /* the same, with first, last and TCP flags */
extern const struct output output_stats;         /* stats.c: CSV, a row per measurement */
extern const struct output output_queues;        /* queues.c: CSV, a row per worker */
extern const struct output output_rules;         /* rules.c: CSV, a row per rule of --monitor */
extern const struct output output_flows;         /* flows.c: CSV, a row per record that ended */
extern const struct output output_table;         /* table.c: for a person */

/* Reported keys of all measurements of an epoch. */
uint64_t output_reported_keys(const struct report_epoch *epoch);
