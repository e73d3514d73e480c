/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Messages to the service manager, as sd_notify(3) describes the protocol: datagrams of NAME=value
 * lines to the socket that NOTIFY_SOCKET names. Nothing here ever blocks.
 */

#include <stdbool.h>
#include <stdint.h>

struct notify {
	int fd;               /* -1: nobody wants to be told */
	uint64_t watchdog_ns; /* it expects a sign of life so often; 0: it does not */
};

/*
 * Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID and takes them out of the environment, so
 * that no child speaks for us. Call before there are threads. Returns NULL, or what is wrong with
 * them; then nobody is told.
 */
const char *notify_open(struct notify *notify);
void notify_close(struct notify *notify);

/* Sends lines of NAME=value. Returns false where the message did not get through: try it again. */
bool notify_send(const struct notify *notify, const char *message);
