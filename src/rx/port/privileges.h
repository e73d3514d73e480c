/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Drivers do not report missing privileges. These functions return true if one is missing, and name
 * it in why[PORT_PRIVILEGE_MAX].
 */

#include <stdbool.h>
#include <stdint.h>

#include "rx/port/drivers.h"

#define PORT_PRIVILEGE_MAX 256

bool port_lacks_privilege(const struct port_driver *driver, const char *device, char *why);

bool port_lacks_to_send(const struct port_driver *driver, char *why);

/* Checks only capabilities, which `effective` has as bits. */
bool port_lacks_capabilities(
	const struct port_driver *driver, bool on_interface, uint64_t effective, char *why);
