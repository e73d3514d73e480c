/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Finds privileges that this process lacks for a device, because drivers report only that they
 * failed. If one is missing, the functions return true and write it to why[PORT_PRIVILEGE_MAX].
 */

#include <stdbool.h>
#include <stdint.h>

#include "rx/port/drivers.h"

#define PORT_PRIVILEGE_MAX 256

bool port_lacks_privilege(const struct port_driver *driver, const char *device, char *why);

/* For sending and receiving */
bool port_lacks_to_send(const struct port_driver *driver, char *why);

/* Checks only capabilities. `effective` are those of the process. */
bool port_lacks_capabilities(
	const struct port_driver *driver, bool on_interface, uint64_t effective, char *why);
