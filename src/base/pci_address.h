/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* PCI address: DOMAIN:BUS:DEVICE.FUNCTION, or without the domain, which is then 0. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
