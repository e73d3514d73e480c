/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/process_limits.h"
#include "rx/port/port_name.h"

#define TUN_DEVICE "/dev/net/tun"

static bool list_missing(uint64_t missing, char *why)
{
	size_t used;

	if (missing == 0)
		return false;
	used = (size_t)snprintf(why, PORT_PRIVILEGE_MAX, "this process lacks");
	for (uint32_t i = 0; i < 64; i++)
		if ((missing >> i & 1) != 0)
			used += (size_t)snprintf(why + used, PORT_PRIVILEGE_MAX - used, " %s",
				port_capability_name(i));
	snprintf(why + used, PORT_PRIVILEGE_MAX - used, ": run as root, or add it");
	return true;
}

bool port_lacks_capabilities(
	const struct port_driver *driver, bool on_interface, uint64_t effective, char *why)
{
	return list_missing(port_driver_needs(driver, on_interface) & ~effective, why);
}

bool port_lacks_to_send(const struct port_driver *driver, char *why)
{
	return list_missing((driver->needs | driver->needs_to_send) & ~process_capabilities(), why);
}

/* RLIMIT_MEMLOCK may be too small for the memory that the driver shares with the kernel. */
static bool is_locked_memory_missing(const struct port_driver *driver, char *why)
{
	struct rlimit limit;

	if (!driver->locks_memory || (process_capabilities() >> CAP_IPC_LOCK & 1) != 0 ||
		getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return false;
	snprintf(why, PORT_PRIVILEGE_MAX,
		"this process may lock only %llu KB of memory: raise the limit (ulimit -l, "
		"LimitMEMLOCK=), or give it CAP_IPC_LOCK",
		(unsigned long long)limit.rlim_cur / 1024);
	return true;
}

static bool is_tun_missing(const struct port_driver *driver, char *why)
{
	if (!driver->makes_interface ||
		faccessat(AT_FDCWD, TUN_DEVICE, R_OK | W_OK, AT_EACCESS) == 0)
		return false;
	snprintf(why, PORT_PRIVILEGE_MAX, TUN_DEVICE ": %s", strerror(errno));
	return true;
}

/* Drivers with abstract sockets need write access to this folder even if they do not listen. */
static bool is_socket_folder_missing(
	const struct port_listener *listener, const char *device, char *why)
{
	int length, abstract_length;
	const char *socket, *abstract;
	char folder[PORT_DEVICE_MAX];
	char *end;

	if (listener == NULL || listener->abstract == NULL)
		return false;
	socket = port_devarg(device, listener->path_key, &length);
	abstract = port_devarg(device, listener->abstract, &abstract_length);
	if (socket == NULL || abstract == NULL ||
		strncmp(abstract, "no", (size_t)abstract_length) != 0)
		return false;
	snprintf(folder, sizeof(folder), "%.*s", length, socket);
	end = strrchr(folder, '/');
	if (end == NULL)
		snprintf(folder, sizeof(folder), ".");
	else
		end[end == folder] = '\0';
	if (faccessat(AT_FDCWD, folder, W_OK, AT_EACCESS) == 0)
		return false;
	snprintf(why, PORT_PRIVILEGE_MAX, "cannot write to %.120s, the folder of its socket: %s",
		folder, strerror(errno));
	return true;
}

bool port_lacks_privilege(const struct port_driver *driver, const char *device, char *why)
{
	bool on_interface = strstr(device, "iface=") != NULL;

	return port_lacks_capabilities(driver, on_interface, process_capabilities(), why) ||
	       is_tun_missing(driver, why) || is_locked_memory_missing(driver, why) ||
	       is_socket_folder_missing(driver->listener, device, why);
}
