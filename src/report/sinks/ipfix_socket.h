/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * IPFIX to a collector: UDP, paced and never fragmented, or TCP. One thread has it, and may wait in
 * each call: for the receiver (receiver.h), and for the next datagram's time. Rows that it does not
 * take at once are lost.
 */

#include <stdbool.h>
#include <stdint.h>

#include "report/formats/ipfix.h"
#include "report/sinks/socket_client.h"

struct ipfix_socket_options {
	struct ipfix_options records;
	double rate; /* datagrams per second; 0: as an epoch's rows need, and at least 2000 */
	int64_t (*patience)(void *arg); /* with the receiver (receiver.h) */
	/* ns in which the rest of the report is to leave; INT64_MAX: as it is planned. NULL: always. */
	int64_t (*left)(void *arg);
	/* What a person should know: that rows get lost (a warning), or arrive again. May be NULL. */
	void (*log)(bool warning, const char *line, void *arg);
	void *arg;
};

/* What became of the rows of a report: delivered + failed are all of them. */
struct ipfix_counts {
	uint64_t delivered; /* the kernel took them, and nobody has refused them */
	uint64_t failed;
	uint64_t bytes;      /* of messages that were delivered */
	uint64_t reconnects; /* after the first time */
};

struct ipfix_socket;

/* NULL where memory is missing. */
struct ipfix_socket *ipfix_socket_create(
	const struct socket_client_address *address, const struct ipfix_socket_options *options);

/* Connects before the first report. NULL, or why it cannot. */
const char *ipfix_socket_open(struct ipfix_socket *ipfix);

struct ipfix_counts ipfix_socket_write(
	struct ipfix_socket *ipfix, const struct report_epoch *epoch);

/* Any thread: a report that will not come. Totals have what was in it. */
void ipfix_socket_miss(struct ipfix_socket *ipfix, const struct report_epoch *epoch);

/* Looks the name up again and connects anew with the next report. */
void ipfix_socket_reopen(struct ipfix_socket *ipfix);

void ipfix_socket_free(struct ipfix_socket *ipfix);
