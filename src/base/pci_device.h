/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* PCI addresses, and what sysfs below a root directory has about a device; "": this host. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* DOMAIN:BUS:DEVICE.FUNCTION, or without the domain, which is then 0. */
struct pci_address {
	uint32_t domain;
	uint8_t bus, device, function;
};

/* printf() format and arguments of the full address. */
#define PCI_ADDRESS_FORMAT "%04x:%02x:%02x.%x"
#define PCI_ADDRESS_ARGS(address)                                                                  \
	(address).domain, (address).bus, (address).device, (address).function
#define PCI_ADDRESS_MAX 32

/* Parses text[0..length). Returns false unless all of it is an address. */
bool pci_address_parse(const char *text, size_t length, struct pci_address *address);

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
