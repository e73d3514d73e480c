/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * HTTP pages of --metrics: /metrics for Prometheus (report/metrics/metrics_text.h), /healthz, and
 * as JSON /api/v1/epochs (rows of --stats) and /api/v1/top (rows of --output).
 *
 * The producer passes epochs to the server thread, which replies to requests. Neither waits for the
 * other: of three snapshots, each thread owns one, and swaps it atomically with the third.
 * report/rows/recent.h stores the last epochs.
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

/* Returns true and sets *address if --metrics is set. */
bool metrics_address(const struct config *config, struct listen_address *address);

#define METRICS_ROWS_MAX    1000 /* rows per measurement in /api/v1/top */
/* ns; a live epoch is overdue if it ends later than its interval by more than this */
#define METRICS_PATIENCE_NS INT64_C(2000000000)

struct metrics;

/*
 * dpdk: version of DPDK. recent: contents of /api/v1/epochs. Both must outlive the metrics. Returns
 * NULL if out of memory.
 */
struct metrics *metrics_create(uint32_t top, const char *dpdk, struct recent *recent);
void metrics_destroy(struct metrics *metrics);

/* Functions of the producer: */

/* Starts the run. interval: ns of live epochs; 0: unknown end of epochs. */
void metrics_start(struct metrics *metrics, int64_t interval);
/*
 * Adds a closed epoch, silent or not, and shares it. Owns `deliveries` (writer_deliveries()), which
 * may be NULL.
 */
void metrics_take(
	struct metrics *metrics, struct report_epoch *epoch, struct report_epoch *deliveries);

/* Functions of the server thread: */

/* Returns true if no epoch is overdue. now: monotonic ns. *late: ns by which one is overdue. */
bool metrics_healthy(struct metrics *metrics, int64_t now, int64_t *late);

/* Pages for http_open(); its arg is the struct metrics. */
extern const struct http_page metrics_pages[];
