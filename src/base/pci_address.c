/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/pci_address.h"

#include <stdio.h>
#include <string.h>

bool pci_address_parse(const char *text, size_t length, struct pci_address *address)
{
	unsigned int domain = 0, bus, device, function;
	char plain[PCI_ADDRESS_MAX];
	int used = 0;

	if (length >= sizeof(plain))
		return false;
	memcpy(plain, text, length);
	plain[length] = '\0';
	if (strspn(plain, "0123456789abcdefABCDEF:.") != length)
		return false;
	/* Domains of more than 16 bits exist: VMD numbers them from 0x10000. */
	if (sscanf(plain, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &used) != 4) {
		domain = 0;
		if (sscanf(plain, "%2x:%2x.%1x%n", &bus, &device, &function, &used) != 3)
			return false;
	}
	if ((size_t)used != length || device > 0x1f || function > 7)
		return false;
	*address = (struct pci_address){.domain = domain,
		.bus = (uint8_t)bus,
		.device = (uint8_t)device,
		.function = (uint8_t)function};
	return true;
}
