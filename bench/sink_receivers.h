/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Sinks of every type, with receivers that read everything, or are frozen and never read. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/rows/report.h"

#define SINK_RECEIVERS_ERROR_MAX 512

struct sink_receivers_setting {
	bool frozen;
	size_t queue_mb;
};

struct sink_receivers;

/* Threads inherit the CPU affinity of the caller. Returns NULL with one line in `error`. */
struct sink_receivers *sink_receivers_open(
	const struct sink_receivers_setting *setting, char *error);
/* Takes ownership of the epoch. */
void sink_receivers_push(struct sink_receivers *receivers, struct report_epoch *epoch);
/* Pushes an epoch every `every` ns from another thread, until sink_receivers_close(). */
bool sink_receivers_push_always(
	struct sink_receivers *receivers, size_t flows, size_t rows, int64_t every);
/* Returns the limits of all queues in bytes, with the queue of librdkafka. */
size_t sink_receivers_bound(const struct sink_receivers *receivers);
/* Frees all. Closes frozen connections first, so that their sinks end at once. */
void sink_receivers_close(struct sink_receivers *receivers);

/* If `reads`, returns the number of series, else leaves the connection open. */
size_t sink_receivers_scrape(uint16_t port, bool reads);
/* Returns 0 if built without --metrics. */
uint16_t sink_receivers_metrics_port(const struct sink_receivers *receivers);
/* Returns NULL if built without Kafka or if frozen. */
struct mock_broker *sink_receivers_broker(const struct sink_receivers *receivers);
