/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Creates sinks of every type, with receivers on loopback: files, rows over TCP, an HTTP server
 * instead of ClickHouse, the mock broker of librdkafka, IPFIX over UDP and TCP, and a scraper of
 * --metrics. Receivers either read everything, or are frozen: they accept connections and never
 * read.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/rows/report.h"

#define SINK_RECEIVERS_ERROR_MAX 512

struct sink_receivers_setting {
	bool frozen;
	size_t queue_mb; /* queue size per sink */
};

struct sink_receivers;

/*
 * Creates receivers and sinks. Their threads inherit the CPU affinity of the caller. Returns NULL
 * with one line in error[SINK_RECEIVERS_ERROR_MAX].
 */
struct sink_receivers *sink_receivers_open(
	const struct sink_receivers_setting *setting, char *error);
/* Pushes an epoch and takes ownership of it. */
void sink_receivers_push(struct sink_receivers *receivers, struct report_epoch *epoch);
/* Pushes an epoch every `every` ns from another thread, until sink_receivers_close(). */
bool sink_receivers_push_always(
	struct sink_receivers *receivers, size_t flows, size_t rows, int64_t every);
/* Returns the sum of the size limits of all queues, in bytes, with the queue of librdkafka. */
size_t sink_receivers_bound(const struct sink_receivers *receivers);
/*
 * Stops all sinks and receivers and frees them. Closes frozen connections first, so that their
 * sinks end at once.
 */
void sink_receivers_close(struct sink_receivers *receivers);

/*
 * Requests /metrics at a loopback port. If `reads`, returns the number of series. Otherwise leaves
 * the answer unread and the connection open.
 */
size_t sink_receivers_scrape(uint16_t port, bool reads);
/* Returns the port of --metrics, or 0 if built without it. */
uint16_t sink_receivers_metrics_port(const struct sink_receivers *receivers);
/* Returns the broker, or NULL if built without Kafka or if frozen. */
struct mock_broker *sink_receivers_broker(const struct sink_receivers *receivers);
