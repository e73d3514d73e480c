/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Text of /metrics, in OpenMetrics 1.0 or the older text format of Prometheus. Each metric is a row
 * of metric_rows[]; docs/EXPORTS.md lists them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "report/metrics/metrics_sums.h"
#include "report/rows/report.h"

#define METRICS_TOP_MAX   100 /* maximum rows per measurement */
#define METRICS_LABEL_MAX 128 /* bytes of a label value; longer ones are truncated */

enum metric_type {
	METRIC_COUNTER, /* sample names end in _total */
	METRIC_GAUGE,
	METRIC_INFO, /* sample name ends in _info; value 1 */
};

/* Type of a value. */
enum metric_form {
	METRIC_U64,
	METRIC_U64_IF, /* 0: unknown */
	METRIC_U32,
	METRIC_U32_IF, /* Mbit/s, as bytes per second; 0: unknown */
	METRIC_BOOL,
	METRIC_NOT, /* bool: 1 if it is false */
	METRIC_ONE, /* no value: 1 */
	METRIC_NS,  /* uint64_t */
	METRIC_NS_IF,
	METRIC_TIME, /* int64_t, ns since 1970-01-01 UTC */
	METRIC_DOUBLE,
	METRIC_SERIES,         /* uint64_t: sum over all deliveries with the same labels */
	METRIC_LEDGER_PACKETS, /* struct ledger: a sample for each of its columns of packets */
	METRIC_LEDGER_BYTES,
};

struct metric_source;

struct metric {
	const char *name; /* name of the family; ends in _UNIT if there is a unit */
	enum metric_type type;
	const char *unit; /* "": none */
	const char *help;
	const struct metric_source *of; /* items with values; NULL: heavy hitters */
	enum metric_form form;
	size_t at;                        /* offset of the value in an item */
	const struct metrics_word *words; /* values of one label, at `at`; NULL: one value */
	const char *label;                /* name of this label; NULL: "fate" */
	size_t known;                     /* offset of a bool: the value is known; 0: always */
};

/* Ends with a row without a name. */
extern const struct metric metric_rows[];
const char *metric_type_word(enum metric_type type);
/* Returns "_total", "_info" or "". */
const char *metric_suffix(const struct metric *metric);

/* Input of a scrape. */
struct metrics_view {
	const struct metrics_sums *sums;
	const struct report_epoch *last; /* last epoch, silent or not; NULL: none yet */
	const struct report_epoch
		*deliveries; /* deliveries of all destinations; NULL: not enabled */
	const char *version, *dpdk;
	int64_t started;   /* ns since 1970-01-01 UTC */
	uint64_t resident; /* bytes; 0: unknown */
	uint32_t top;      /* rows per measurement */
};

/* Appends all metrics. openmetrics false: the older format. */
void metrics_text(struct text *text, const struct metrics_view *view, bool openmetrics);

/* Returns true if this Accept header (NULL: none) requests OpenMetrics. */
bool metrics_wants_openmetrics(const char *accept);
