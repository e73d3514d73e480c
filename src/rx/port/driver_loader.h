/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Loads the drivers that a device needs. EAL loads all installed drivers at its start, which takes
 * longer than the rest of the start. Main thread only.
 */

#include <stdbool.h>

/*
 * While set, EAL finds no folder of drivers. This has no effect if DPDK's libraries have another
 * folder than its headers: then EAL loads all drivers.
 */
void driver_loader_postpone(bool postpone);

/* The driver of the mempools is not part of DPDK's core. Errors appear when it is used. */
void driver_loader_mempools(void);

/*
 * Loads the driver of a virtual device; all drivers of network devices if its name does not show
 * which, or if it has members. Errors appear when the device is created.
 */
void driver_loader_device(const char *device);
