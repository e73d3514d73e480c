/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/pci_device.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys_file.h"

#define SYS_PCI "/sys/bus/pci/devices"

/* Name prefixes of drivers that only pass a device to a user process. */
static const char *const passthrough_prefixes[] = {"vfio", "uio", "igb_uio", "pci-stub"};

static bool bound_driver(const char *root, const char *address, char name[PCI_DRIVER_MAX])
{
	if (sys_link(root, name, PCI_DRIVER_MAX, SYS_PCI "/%s/driver", address) != SYS_READ)
		return false;
	for (size_t i = 0; i < sizeof(passthrough_prefixes) / sizeof(passthrough_prefixes[0]); i++)
		if (strncmp(name, passthrough_prefixes[i], strlen(passthrough_prefixes[i])) == 0)
			return false;
	return true;
}

/* Reads modules.alias, which has lines "alias PATTERN MODULE". */
static bool named_driver(FILE *aliases, const char *device, char name[PCI_DRIVER_MAX])
{
	char *line = NULL, *rest, *pattern, *module;
	size_t size = 0;
	bool found = false;

	while (!found && getline(&line, &size, aliases) >= 0) {
		if (strncmp(line, "alias pci:", 10) != 0)
			continue;
		strtok_r(line, " ", &rest);
		pattern = strtok_r(NULL, " ", &rest);
		module = strtok_r(NULL, " \n", &rest);
		found = pattern != NULL && module != NULL && fnmatch(pattern, device, 0) == 0;
		if (found)
			snprintf(name, PCI_DRIVER_MAX, "%s", module);
	}
	free(line);
	return found;
}

bool pci_device_driver(const char *root, const char *address, char name[PCI_DRIVER_MAX])
{
	char device[256], release[128];
	FILE *aliases;
	bool found;

	if (bound_driver(root, address, name))
		return true;
	if (sys_line(root, device, sizeof(device), SYS_PCI "/%s/modalias", address) != SYS_READ ||
		sys_line(root, release, sizeof(release), "/proc/sys/kernel/osrelease") != SYS_READ)
		return false;
	aliases = sys_open(root, "/lib/modules/%s/modules.alias", release);
	if (aliases == NULL)
		return false;
	found = named_driver(aliases, device, name);
	fclose(aliases);
	return found;
}

bool pci_driver_is_virtual(const char *name)
{
	size_t length = strlen(name);

	return length > 2 && strcmp(name + length - 2, "vf") == 0;
}

bool pci_device_is_virtual(const char *root, const char *address)
{
	char driver[PCI_DRIVER_MAX];

	return sys_exists(root, SYS_PCI "/%s/physfn", address) ||
	       (pci_device_driver(root, address, driver) && pci_driver_is_virtual(driver));
}

bool pci_device_file(const char *root, const char *address, char path[PCI_FILE_MAX])
{
	char driver[PCI_DRIVER_MAX], group[32];

	if (sys_link(root, driver, sizeof(driver), SYS_PCI "/%s/driver", address) != SYS_READ ||
		strcmp(driver, "vfio-pci") != 0 ||
		sys_link(root, group, sizeof(group), SYS_PCI "/%s/iommu_group", address) !=
			SYS_READ)
		return false;
	snprintf(path, PCI_FILE_MAX, "/dev/vfio/%s%s",
		sys_exists(root, "/dev/vfio/noiommu-%s", group) ? "noiommu-" : "", group);
	return true;
}

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
	/* Domains of VMD (Intel Volume Management Device) start at 0x10000. */
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
