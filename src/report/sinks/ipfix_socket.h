/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Sends IPFIX to a collector over UDP, paced and never fragmented, or TCP. Used by one thread.
 * Calls may block: for the receiver (socket_client.h), and until the next datagram may be sent.
 * Rows that cannot be sent at once are lost.
 */

#include <stdbool.h>
#include <stdint.h>

#include "report/formats/ipfix.h"
#include "report/sinks/socket_client.h"

struct ipfix_socket_options {
	struct ipfix_options records;
	double rate; /* datagrams per second; 0: spread over the next epoch, at least 2000 */
	int64_t (*patience)(void *arg); /* see struct socket_client */
	/*
	 * Returns the time for the rest of the report, in ns. INT64_MAX: no limit. NULL: never a
	 * limit.
	 */
	int64_t (*left)(void *arg);
	/* Logs that rows are lost (a warning), or are accepted again. May be NULL. */
	void (*log)(bool warning, const char *line, void *arg);
	void *arg;
};

/* Counts of one report: delivered + failed = its rows. */
struct ipfix_counts {
	uint64_t delivered; /* rows that the kernel accepted, and that were not refused later */
	uint64_t failed;
	uint64_t bytes;      /* bytes of delivered messages */
	uint64_t reconnects; /* new connections, without the first of the socket */
};

struct ipfix_socket;

/* Returns NULL if out of memory. */
struct ipfix_socket *ipfix_socket_create(
	const struct socket_client_address *address, const struct ipfix_socket_options *options);

/* Connects before the first report. Returns NULL, or the reason of a failure. */
const char *ipfix_socket_open(struct ipfix_socket *ipfix);

struct ipfix_counts ipfix_socket_write(
	struct ipfix_socket *ipfix, const struct report_epoch *epoch);

/* Any thread. Adds a dropped report to the next totals. */
void ipfix_socket_miss(struct ipfix_socket *ipfix, const struct report_epoch *epoch);

/* Closes the connection. The next report looks up the name and connects again. */
void ipfix_socket_reopen(struct ipfix_socket *ipfix);

void ipfix_socket_free(struct ipfix_socket *ipfix);
