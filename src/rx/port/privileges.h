/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Missing privileges of this process for a device: drivers report only that they failed */

#include <stdbool.h>
#include <stdint.h>

#include "rx/port/drivers.h"

#define PORT_PRIVILEGE_MAX 256

/*
 * Returns true, with why[PORT_PRIVILEGE_MAX], if missing privileges can be the reason why a device
 * could not be created or started.
 */
bool port_lacks_privilege(const struct port_driver *driver, const char *device, char *why);

/* As port_lacks_privilege(), for capabilities to send and receive. */
bool port_lacks_to_send(const struct port_driver *driver, char *why);

/* As port_lacks_privilege(), for a process with the capabilities `effective`. Checks only these. */
bool port_lacks_capabilities(
	const struct port_driver *driver, bool on_interface, uint64_t effective, char *why);
