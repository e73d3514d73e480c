/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Messages to systemd by the protocol of sd_notify(3). No call blocks. */

#include <stdbool.h>
#include <stdint.h>

struct notify {
	int fd;               /* -1: no service manager */
	uint64_t watchdog_ns; /* 0: no watchdog */
};

/*
 * Reads and unsets NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, before threads start. Returns
 * NULL or an error message.
 */
const char *notify_open(struct notify *notify);
void notify_close(struct notify *notify);

/* Sends NAME=value lines. Returns false if the caller should try again later. */
bool notify_send(const struct notify *notify, const char *message);
