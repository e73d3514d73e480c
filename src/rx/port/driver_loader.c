/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/driver_loader.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <rte_config.h>
#include <rte_log.h>

#define FOLDER RTE_EAL_PMD_PATH
#define PREFIX "librte_"

/* Returns the length of the driver's name in a file name such as librte_net_tap.so.23, or 0. */
static size_t name_length(const char *file)
{
	const char *end = strstr(file, ".so");

	if (strncmp(file, PREFIX, strlen(PREFIX)) != 0 || end == NULL)
		return 0;
	return (size_t)(end - file) - strlen(PREFIX);
}

static void load(const char *file)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", FOLDER, file);
	/* It stays loaded; only its constructors matter. */
	if (dlopen(path, RTLD_NOW) == NULL)
		rte_log(RTE_LOG_ERR, RTE_LOGTYPE_EAL, "%s\n", dlerror());
}

/*
 * Loads the driver with the longest name that begins `device`, or, if `whole` is false, each driver
 * whose name begins with `device`. Returns true if it found one.
 */
static bool load_matching(const char *device, bool whole)
{
	char best[NAME_MAX + 1] = "";
	bool found = false;
	DIR *folder = opendir(FOLDER);
	const struct dirent *entry;

	if (folder == NULL)
		return false;
	while ((entry = readdir(folder)) != NULL) {
		size_t length = name_length(entry->d_name);
		const char *name = entry->d_name + strlen(PREFIX);

		if (length == 0)
			continue;
		if (!whole && strncmp(name, device, strlen(device)) == 0) {
			load(entry->d_name);
			found = true;
		} else if (whole && strncmp(name, device, length) == 0 &&
			   length > name_length(best)) {
			snprintf(best, sizeof(best), "%s", entry->d_name);
			found = true;
		}
	}
	closedir(folder);
	if (best[0] != '\0')
		load(best);
	return found;
}

void driver_loader_mempools(void)
{
	load_matching("mempool_ring", true);
}

void driver_loader_device(const char *device)
{
	static const struct {
		const char *device, *driver; /* NULL: any */
	} others[] = {
		{"net_tun", "net_tap"},
		{"virtio_user", "net_virtio"},
		{"net_bond", NULL},
		{"eth_bond", NULL},
		{"net_failsafe", NULL},
	};
	char name[NAME_MAX + 1];

	snprintf(name, sizeof(name), "%s%s", strncmp(device, "eth_", 4) == 0 ? "net_" : "",
		device + (strncmp(device, "eth_", 4) == 0 ? 4 : 0));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strncmp(device, others[i].device, strlen(others[i].device)) == 0)
			snprintf(name, sizeof(name), "%s",
				others[i].driver != NULL ? others[i].driver : "");
	if (!load_matching(name, true))
		load_matching("net_", false);
}
