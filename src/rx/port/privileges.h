/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What this process may not do and a device needs: drivers only say that they failed. */

#include <stdbool.h>
#include <stdint.h>

#include "rx/port/drivers.h"

#define PORT_PRIVILEGE_MAX 256

/* Of a device that could not be made or started: true, with why[PORT_PRIVILEGE_MAX], where it is
 * that. */
bool port_lacks_privilege(const struct port_driver *driver, const char *device, char *why);

/* The same for capabilities that a device needs to send, and to receive. */
bool port_lacks_to_send(const struct port_driver *driver, char *why);

/* The same for capabilities alone, of a process that has `effective` ones. */
bool port_lacks_capabilities(
	const struct port_driver *driver, bool on_interface, uint64_t effective, char *why);
