/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Finds privileges that this process lacks for a device. Drivers report only that they failed. */

#include <stdbool.h>
#include <stdint.h>

#include "rx/port/drivers.h"

#define PORT_PRIVILEGE_MAX 256

/*
 * Returns true, with why[PORT_PRIVILEGE_MAX], if missing privileges can be the reason why a device
 * could not be created or started.
 */
bool port_lacks_privilege(const struct port_driver *driver, const char *device, char *why);

/* Like port_lacks_privilege(), for sending and receiving. */
bool port_lacks_to_send(const struct port_driver *driver, char *why);

/*
 * Like port_lacks_privilege(), for a process with the capabilities `effective`. Checks only
 * capabilities.
 */
bool port_lacks_capabilities(
	const struct port_driver *driver, bool on_interface, uint64_t effective, char *why);
