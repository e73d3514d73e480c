/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Writes the page /metrics, in OpenMetrics 1.0 or in the older text format of Prometheus. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "report/metrics/metrics_sums.h"
#include "report/rows/report.h"

#define METRICS_TOP_MAX   100 /* rows per measurement */
#define METRICS_LABEL_MAX 128 /* bytes; longer label values are truncated */

enum metric_type {
	METRIC_COUNTER, /* names of samples end in _total */
	METRIC_GAUGE,
	METRIC_INFO, /* names of samples end in _info; their value is 1 */
};

enum metric_form {
	METRIC_U64,
	METRIC_U64_IF, /* 0: unknown */
	METRIC_U32,
	METRIC_U32_IF, /* Mbit/s, printed as bytes per second; 0: unknown */
	METRIC_BOOL,
	METRIC_NOT, /* bool: 1 if it is false */
	METRIC_ONE, /* no value: 1 */
	METRIC_NS,  /* uint64_t */
	METRIC_NS_IF,
	METRIC_TIME, /* int64_t, ns since 1970-01-01 UTC */
	METRIC_DOUBLE,
	/* uint64_t, summed over all deliveries with the same labels */
	METRIC_SERIES,
	METRIC_LEDGER_PACKETS, /* one sample for each ledger column that counts packets */
	METRIC_LEDGER_BYTES,
};

struct metric_source;

struct metric {
	const char *name; /* without _total or _info; ends in the unit, if there is one */
	enum metric_type type;
	const char *unit;
	const char *help;
	/* items that have the values; NULL: rows of heavy hitters */
	const struct metric_source *of;
	enum metric_form form;
	size_t at; /* offset of the value in the item */
	/* label values, with offsets relative to `at`; NULL: a single value */
	const struct metrics_word *words;
	const char *label; /* label name of `words`; NULL: "fate" */
	/* offset of a bool: the value is known; 0: always known */
	size_t known;
};

/* A row without a name ends the table. */
extern const struct metric metric_rows[];
const char *metric_type_word(enum metric_type type);
/* Returns "_total", "_info" or "". */
const char *metric_suffix(const struct metric *metric);

struct metrics_view {
	const struct metrics_sums *sums;
	const struct report_epoch *last;       /* NULL: none yet */
	const struct report_epoch *deliveries; /* delivery counts; NULL: not enabled */
	const char *version, *dpdk;
	int64_t started;   /* ns since 1970-01-01 UTC */
	uint64_t resident; /* bytes; 0: unknown */
	uint32_t top;      /* rows per measurement */
};

void metrics_text(struct text *text, const struct metrics_view *view, bool openmetrics);

/* accept: header of a request, or NULL */
bool metrics_wants_openmetrics(const char *accept);
