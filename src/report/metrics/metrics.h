/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * HTTP pages of --metrics: /metrics for Prometheus, /healthz, and JSON under /api/v1.
 *
 * The producer publishes a snapshot after each epoch, from which the server thread replies. Neither
 * waits for the other: each thread owns a snapshot, and exchanges it atomically with a third one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/option.h"
#include "report/metrics/http.h"
#include "report/rows/recent.h"
#include "report/rows/report.h"

struct metrics_options {
	const char *address;
	uint32_t top;
};

OPTION_OWNER(metrics)

/* Returns true and sets *address if --metrics is set. */
bool metrics_address(const struct config *config, struct listen_address *address);

#define METRICS_ROWS_MAX    1000 /* rows of each measurement in /api/v1/top */
/* ns; a live epoch is overdue if it ends later than planned by more than this */
#define METRICS_PATIENCE_NS INT64_C(2000000000)

struct metrics;

/*
 * recent: epochs for /api/v1/epochs. It and `dpdk` (a version) must outlive the metrics. Returns
 * NULL if out of memory.
 */
struct metrics *metrics_create(uint32_t top, const char *dpdk, struct recent *recent);
void metrics_destroy(struct metrics *metrics);

/* Only the producer calls metrics_start() and metrics_take(). */

/* interval: ns of a live epoch; 0: the end of an epoch cannot be predicted. */
void metrics_start(struct metrics *metrics, int64_t interval);
/*
 * Adds a closed epoch, with or without packets, and takes a reference to it. Takes ownership of
 * `deliveries`, which may be NULL.
 */
void metrics_take(
	struct metrics *metrics, struct report_epoch *epoch, struct report_epoch *deliveries);

/*
 * For the server thread. If an epoch is overdue, returns false and stores in *late by how many ns.
 * now: monotonic ns.
 */
bool metrics_healthy(struct metrics *metrics, int64_t now, int64_t *late);

/* The argument of each page is the struct metrics. */
extern const struct http_page metrics_pages[];
