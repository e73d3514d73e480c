/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Text of /metrics: OpenMetrics 1.0, or the older text format of Prometheus. A metric is a row of
 * metric_rows[] (docs/EXPORTS.md has the same table for readers).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "report/metrics/metrics_sums.h"
#include "report/rows/report.h"

#define METRICS_TOP_MAX   100 /* rows of a measurement */
#define METRICS_LABEL_MAX 128 /* bytes of a label's value; longer ones are cut */

enum metric_type {
	METRIC_COUNTER, /* its samples end in _total */
	METRIC_GAUGE,
	METRIC_INFO, /* its sample ends in _info, and is 1 */
};

struct metric_samples;

struct metric {
	const char *name; /* name of the family; ends in _UNIT if it has a unit */
	enum metric_type type;
	const char *unit; /* "": none */
	const char *help;
	void (*add)(struct metric_samples *samples, const struct metric *metric);
	size_t at; /* offset of the value that add() adds, if it uses one */
};

/* Up to one without a name. */
extern const struct metric metric_rows[];
const char *metric_type_word(enum metric_type type);
/* "_total", "_info" or "" */
const char *metric_suffix(const struct metric *metric);

/* Input of a scrape. */
struct metrics_view {
	const struct metrics_sums *sums;
	const struct report_epoch *last; /* epoch, silent or not; NULL: none was closed yet */
	const struct report_epoch
		*deliveries; /* deliveries of all destinations; NULL: not enabled */
	const char *version, *dpdk;
	int64_t started;   /* ns since 1970-01-01 UTC */
	uint64_t resident; /* bytes; 0: not known */
	uint32_t top;      /* rows of each measurement */
};

/* openmetrics: else the older format. */
void metrics_text(struct text *text, const struct metrics_view *view, bool openmetrics);

/* Returns true if this Accept header (NULL: none) requests OpenMetrics. */
bool metrics_wants_openmetrics(const char *accept);
