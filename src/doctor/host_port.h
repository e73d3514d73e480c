/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What a --port names, as far as its text and sysfs tell. */

#include "doctor/check.h"

/* Fills all of it but the interface's settings. root as in base/sys_file.h. */
void host_port_read(struct host_port *port, const char *root, const char *spec);
