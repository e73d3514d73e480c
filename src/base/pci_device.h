/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* `root` is the directory that contains /sys: "" for this host, another one in tests. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* DOMAIN:BUS:DEVICE.FUNCTION, or BUS:DEVICE.FUNCTION in domain 0. */
struct pci_address {
	uint32_t domain;
	uint8_t bus, device, function;
};

#define PCI_ADDRESS_FORMAT "%04x:%02x:%02x.%x"
#define PCI_ADDRESS_ARGS(address)                                                                  \
	(address).domain, (address).bus, (address).device, (address).function
#define PCI_ADDRESS_MAX 32

/* Returns false unless text[0..length) is exactly an address. */
bool pci_address_parse(const char *text, size_t length, struct pci_address *address);

#define PCI_DRIVER_MAX 64
#define PCI_FILE_MAX   64

/*
 * Writes the name of the bound kernel driver or, if none or only vfio-pci or uio is bound, of the
 * driver in modules.alias. Returns false if there is none.
 */
bool pci_device_driver(const char *root, const char *address, char name[PCI_DRIVER_MAX]);

bool pci_driver_is_virtual(const char *name);

/* In a guest, only the driver's name shows that a device is a virtual function. */
bool pci_device_is_virtual(const char *root, const char *address);

/* Writes a path such as /dev/vfio/12. Returns false if vfio-pci is not bound to the device. */
bool pci_device_file(const char *root, const char *address, char path[PCI_FILE_MAX]);
