/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The address of a PCI device: DOMAIN:BUS:DEVICE.FUNCTION, or without its domain, which is 0. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pci_address {
	uint32_t domain;
	uint8_t bus, device, function;
};

/* To print it in full. */
#define PCI_ADDRESS_FORMAT "%04x:%02x:%02x.%x"
#define PCI_ADDRESS_ARGS(address)                                                                  \
	(address).domain, (address).bus, (address).device, (address).function
#define PCI_ADDRESS_MAX 32

/* Reads text[0..length), all of it. */
bool pci_address_parse(const char *text, size_t length, struct pci_address *address);
