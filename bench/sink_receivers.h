/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Outlets of every kind with receivers of the bench's own on loopback: files, rows by TCP, an HTTP
 * server in the place of ClickHouse, librdkafka's own broker, IPFIX by UDP and TCP, and who scrapes
 * --metrics. Either they take all, or they are frozen: connected to, and nothing is read.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/rows/report.h"

#define SINK_RECEIVERS_ERROR_MAX 512

struct sink_receivers_setting {
	bool frozen;
	size_t queue_mb; /* of each */
};

struct sink_receivers;

/* Its threads run where the caller's may. NULL with one line in error[SINK_RECEIVERS_ERROR_MAX]. */
struct sink_receivers *sink_receivers_open(
	const struct sink_receivers_setting *setting, char *error);
/* Hands an epoch over, which is taken over. */
void sink_receivers_push(struct sink_receivers *receivers, struct report_epoch *epoch);
/* Hands one over every so many ns, from a thread of its own, until sink_receivers_close(). */
bool sink_receivers_push_always(
	struct sink_receivers *receivers, size_t flows, size_t rows, int64_t every);
/* What all queues may take, with librdkafka's own; bytes. */
size_t sink_receivers_bound(const struct sink_receivers *receivers);
/* Ends them; those that are frozen hang up, so that this does not take long. */
void sink_receivers_close(struct sink_receivers *receivers);

/* Series of an answer of /metrics at a port of loopback; reads: else it is asked for, and left. */
size_t sink_receivers_scrape(uint16_t port, bool reads);
/* Of the metrics that are there. 0: this build has none. */
uint16_t sink_receivers_metrics_port(const struct sink_receivers *receivers);
/* Where Kafka's rows go; NULL: this build has none. */
struct mock_broker *sink_receivers_broker(const struct sink_receivers *receivers);
