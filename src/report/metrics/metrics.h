/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * HTTP pages of --metrics: /metrics for Prometheus (report/metrics/metrics_text.h), /healthz, and
 * in JSON /api/v1/epochs (rows of --stats) and /api/v1/top (rows of --output).
 *
 * The producer publishes a snapshot after each epoch, and the server thread replies to requests
 * from it. Neither waits for the other. There are three snapshots: each thread owns one, and
 * exchanges it atomically with the third one. report/rows/recent.h stores the last epochs.
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

#define METRICS_ROWS_MAX    1000 /* maximum rows of each measurement in /api/v1/top */
/* ns; a live epoch is overdue if it ends later than planned by more than this */
#define METRICS_PATIENCE_NS INT64_C(2000000000)

struct metrics;

/*
 * dpdk: version of DPDK. recent: epochs for /api/v1/epochs. Both must outlive the metrics. Returns
 * NULL if out of memory.
 */
struct metrics *metrics_create(uint32_t top, const char *dpdk, struct recent *recent);
void metrics_destroy(struct metrics *metrics);

/* The producer calls these functions. */

/* Starts the run. interval: ns of a live epoch; 0: the end of an epoch cannot be predicted. */
void metrics_start(struct metrics *metrics, int64_t interval);
/*
 * Adds a closed epoch, with or without packets, and takes a reference to it. Takes ownership of
 * `deliveries` (writer_deliveries()), which may be NULL.
 */
void metrics_take(
	struct metrics *metrics, struct report_epoch *epoch, struct report_epoch *deliveries);

/* The server thread calls these functions. */

/*
 * Returns true if no epoch is overdue. Otherwise stores in *late by how many ns the current one is
 * overdue. now: monotonic ns.
 */
bool metrics_healthy(struct metrics *metrics, int64_t now, int64_t *late);

/* Pages for http_open(). The argument of each is the struct metrics. */
extern const struct http_page metrics_pages[];
