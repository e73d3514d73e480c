/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What this process may not do and a virtual device needs: drivers only say that they failed. */

#include <stdbool.h>

#define PORT_LACKS_MAX 256

/* Of a device that could not be made or started: true, with why[PORT_LACKS_MAX], where it is that.
 */
bool port_lacks(const char *device, char *why);
