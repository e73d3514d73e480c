/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What the kernel says of a PCI device, below a root directory: "" is this host. */

#include <stdbool.h>

#define PCI_DRIVER_MAX 64
#define PCI_FILE_MAX   64

/*
 * The kernel's driver for the device: the one that is bound, or where none is, or one that hands
 * the device to a process (vfio-pci, uio), the one that modules.alias names for it.
 */
bool pci_device_driver(const char *root, const char *address, char name[PCI_DRIVER_MAX]);

/* Whether a driver is one for virtual functions; the kernel's and DPDK's are called so. */
bool pci_driver_is_virtual(const char *name);

/* Whether the device is a virtual function. In a guest only its driver tells. */
bool pci_device_is_virtual(const char *root, const char *address);

/* The file by which a process opens the device, of one that vfio-pci has. */
bool pci_device_file(const char *root, const char *address, char path[PCI_FILE_MAX]);
