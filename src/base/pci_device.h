/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Reads sysfs about a PCI device, below a root directory: "" is this host. */

#include <stdbool.h>

#define PCI_DRIVER_MAX 64
#define PCI_FILE_MAX   64

/*
 * Finds the kernel driver of a device: the bound one. If none is bound, or only one that passes the
 * device to a process (vfio-pci, uio), the driver that modules.alias names.
 */
bool pci_device_driver(const char *root, const char *address, char name[PCI_DRIVER_MAX]);

/* Returns true for drivers of virtual functions, of the kernel or of DPDK, by their names. */
bool pci_driver_is_virtual(const char *name);

/* Returns true if the device is a virtual function. In a guest only its driver shows it. */
bool pci_device_is_virtual(const char *root, const char *address);

/* Returns the file through which a process opens a device bound to vfio-pci. */
bool pci_device_file(const char *root, const char *address, char path[PCI_FILE_MAX]);
