/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Sends messages to the service manager (systemd) by the protocol of sd_notify(3): datagrams of
 * NAME=value lines to the socket in NOTIFY_SOCKET. No call blocks.
 */

#include <stdbool.h>
#include <stdint.h>

struct notify {
	int fd;               /* -1: no service manager */
	uint64_t watchdog_ns; /* interval of the watchdog; 0: none */
};

/*
 * Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID and removes them from the environment, so
 * that child processes do not use them. Call it before threads start. Returns NULL or an error
 * message.
 */
const char *notify_open(struct notify *notify);
void notify_close(struct notify *notify);

/*
 * Sends lines of NAME=value. Returns false if the message was not sent; try again later. Does
 * nothing without a service manager.
 */
bool notify_send(const struct notify *notify, const char *message);
