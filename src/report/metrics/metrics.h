/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * --metrics: what a run tells who asks by HTTP. /metrics for Prometheus
 * (report/metrics/metrics_text.h), /healthz, and as JSON /api/v1/epochs (rows of --stats) and
 * /api/v1/top (rows of --output).
 *
 * One thread hands epochs over, one answers, and neither ever waits for the other: but for the last
 * epochs (report/rows/recent.h) there are three snapshots. Each thread has one that is its own, and
 * they exchange it for the one between them.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/option.h"
#include "report/metrics/http.h"
#include "report/rows/recent.h"
#include "report/rows/report.h"

struct metrics_options {
	const char *address; /* NULL: no --metrics */
	uint32_t top;
};

OPTION_OWNER(metrics)

/* Whether there is --metrics; then its address. */
bool metrics_address(const struct config *config, struct listen_address *address);

#define METRICS_ROWS_MAX    1000 /* of each measurement, in /api/v1/top */
/* A live epoch that ends so much later than its interval says is overdue. */
#define METRICS_PATIENCE_NS INT64_C(2000000000)

struct metrics;

/*
 * dpdk: its version. recent: what /api/v1/epochs has. NULL where there is no memory. What it is
 * given lives as long.
 */
struct metrics *metrics_create(uint32_t top, const char *dpdk, struct recent *recent);
void metrics_destroy(struct metrics *metrics);

/* The thread that hands over: */

/* The run begins. interval: ns, of live epochs; 0: nobody knows when an epoch is to end. */
void metrics_start(struct metrics *metrics, int64_t interval);
/*
 * An epoch was closed, silent or not: shared, not taken over. What became of all rows until then
 * (writer_deliveries()) is taken over, and may be NULL.
 */
void metrics_take(
	struct metrics *metrics, struct report_epoch *epoch, struct report_epoch *deliveries);

/* The thread that answers: */

/* now: monotonic ns. Whether no epoch is overdue; *late: by how much one is, ns. */
bool metrics_healthy(struct metrics *metrics, int64_t now, int64_t *late);

/* For http_open(), with the struct metrics as its arg. */
extern const struct http_page metrics_pages[];
