/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Parses PCI addresses, and reads the entries of a device in sysfs. `root` is the directory that
 * contains /sys: "" for this host, others in tests.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Address in the form DOMAIN:BUS:DEVICE.FUNCTION, or BUS:DEVICE.FUNCTION in domain 0. */
struct pci_address {
	uint32_t domain;
	uint8_t bus, device, function;
};

/* printf() format and arguments of the full address. */
#define PCI_ADDRESS_FORMAT "%04x:%02x:%02x.%x"
#define PCI_ADDRESS_ARGS(address)                                                                  \
	(address).domain, (address).bus, (address).device, (address).function
#define PCI_ADDRESS_MAX 32

/* Parses text[0..length). Returns false unless the whole text is an address. */
bool pci_address_parse(const char *text, size_t length, struct pci_address *address);

#define PCI_DRIVER_MAX 64
#define PCI_FILE_MAX   64

/*
 * Writes the name of the kernel driver that is bound to the device. If none is bound, or only one
 * that passes the device to a process (vfio-pci, uio), writes the driver that modules.alias lists.
 * Returns false if no driver is found.
 */
bool pci_device_driver(const char *root, const char *address, char name[PCI_DRIVER_MAX]);

/* Returns true if the name of a driver of the kernel or of DPDK ends in "vf": virtual function. */
bool pci_driver_is_virtual(const char *name);

/*
 * Returns true if the device is a virtual function. In a guest only the name of its driver shows
 * this.
 */
bool pci_device_is_virtual(const char *root, const char *address);

/*
 * Writes the path of the file by which a process opens the device, such as /dev/vfio/12. Returns
 * false if the device is not bound to vfio-pci.
 */
bool pci_device_file(const char *root, const char *address, char path[PCI_FILE_MAX]);
