/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Loads the drivers that a device needs. By default, EAL loads all installed drivers at its start.
 * Main thread only.
 */

/* The driver of the mempools is not part of DPDK's core. Errors appear when it is used. */
void driver_loader_mempools(void);

/*
 * Loads the driver of a virtual device; all drivers of network devices if its name does not show
 * which, or if it has members. Errors appear when the device is created.
 */
void driver_loader_device(const char *device);
