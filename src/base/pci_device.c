/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/pci_device.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYS_PCI "/sys/bus/pci/devices"

/* Drivers that hand a device to a process, by how their names begin. */
static const char *const stand_ins[] = {"vfio", "uio", "igb_uio", "pci-stub"};

static bool bound_driver(const char *root, const char *address, char name[PCI_DRIVER_MAX])
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *slash;
	ssize_t length;

	snprintf(path, sizeof(path), "%s" SYS_PCI "/%s/driver", root, address);
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return false;
	target[length] = '\0';
	slash = strrchr(target, '/');
	snprintf(name, PCI_DRIVER_MAX, "%.*s", PCI_DRIVER_MAX - 1,
		slash != NULL ? slash + 1 : target);
	for (size_t i = 0; i < sizeof(stand_ins) / sizeof(stand_ins[0]); i++)
		if (strncmp(name, stand_ins[i], strlen(stand_ins[i])) == 0)
			return false;
	return true;
}

__attribute__((format(printf, 3, 4))) static bool first_line(
	char *line, int size, const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	FILE *file;
	bool read;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	read = fgets(line, size, file) != NULL;
	fclose(file);
	line[read ? strcspn(line, "\n") : 0] = '\0';
	return read;
}

/* Lines "alias PATTERN MODULE". */
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
	char path[PATH_MAX], device[256], release[128];
	FILE *aliases;
	bool found;

	if (bound_driver(root, address, name))
		return true;
	if (!first_line(device, sizeof(device), "%s" SYS_PCI "/%s/modalias", root, address) ||
		!first_line(release, sizeof(release), "%s/proc/sys/kernel/osrelease", root))
		return false;
	snprintf(path, sizeof(path), "%s/lib/modules/%s/modules.alias", root, release);
	aliases = fopen(path, "re");
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
	char path[PATH_MAX], driver[PCI_DRIVER_MAX];

	snprintf(path, sizeof(path), "%s" SYS_PCI "/%s/physfn", root, address);
	return access(path, F_OK) == 0 ||
	       (pci_device_driver(root, address, driver) && pci_driver_is_virtual(driver));
}
