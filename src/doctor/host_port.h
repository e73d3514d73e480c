/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Resolves a --port by its text and sysfs. */

#include "doctor/check.h"

/* Fills `port`, except for `settings`. root: see base/sys_file.h. */
void host_port_read(struct host_port *port, const char *root, const char *spec);
