/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/lacks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rx/port/name.h"

#define TUN_DEVICE "/dev/net/tun"

#define CAP(name) (UINT64_C(1) << (name))

static const struct {
	const char *driver;
	uint64_t needs; /* capabilities; docs/OPERATIONS.md says how that was found out */
} drivers[] = {
	{"net_af_packet", CAP(CAP_NET_RAW)},
	{"eth_af_packet", CAP(CAP_NET_RAW)},
	{"net_tap", CAP(CAP_NET_ADMIN)},
	{"net_af_xdp", CAP(CAP_NET_RAW) | CAP(CAP_NET_ADMIN) | CAP(CAP_SYS_ADMIN)},
};

static const struct {
	const char *name;
	uint64_t bit;
} names[] = {
	{"CAP_NET_RAW", CAP(CAP_NET_RAW)},
	{"CAP_NET_ADMIN", CAP(CAP_NET_ADMIN)},
	{"CAP_SYS_ADMIN", CAP(CAP_SYS_ADMIN)},
};

/* All of them where the kernel does not say. */
static uint64_t effective_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, data) != 0)
		return UINT64_MAX;
	return (uint64_t)data[1].effective << 32 | data[0].effective;
}

static bool is_of(const char *device, const char *driver)
{
	return strncmp(device, driver, strlen(driver)) == 0;
}

static bool lacks_capabilities(const char *device, char *why)
{
	uint64_t missing = 0;
	size_t used = 0;

	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (is_of(device, drivers[i].driver))
			missing |= drivers[i].needs & ~effective_capabilities();
	if (missing == 0)
		return false;
	used = (size_t)snprintf(why, PORT_LACKS_MAX, "this process lacks");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if ((missing & names[i].bit) != 0)
			used += (size_t)snprintf(
				why + used, PORT_LACKS_MAX - used, " %s", names[i].name);
	snprintf(why + used, PORT_LACKS_MAX - used, ": run as root, or give it that");
	return true;
}

/* Where AF_XDP may not pin the memory that it shares with the kernel. */
static bool lacks_locked_memory(const char *device, char *why)
{
	struct rlimit limit;

	if (!is_of(device, "net_af_xdp") || (effective_capabilities() & CAP(CAP_IPC_LOCK)) != 0 ||
		getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return false;
	snprintf(why, PORT_LACKS_MAX,
		"this process may lock %llu KB of memory only: raise the limit (ulimit -l, "
		"LimitMEMLOCK=), or give it CAP_IPC_LOCK",
		(unsigned long long)limit.rlim_cur / 1024);
	return true;
}

static bool lacks_tun(const char *device, char *why)
{
	if (!is_of(device, "net_tap") ||
		faccessat(AT_FDCWD, TUN_DEVICE, R_OK | W_OK, AT_EACCESS) == 0)
		return false;
	snprintf(why, PORT_LACKS_MAX, TUN_DEVICE ": %s", strerror(errno));
	return true;
}

/* net_memif looks at the folder of a socket that is a file, whoever listens there. */
static bool lacks_socket_folder(const char *device, char *why)
{
	int length, abstract_length;
	const char *socket = port_devarg(device, "socket", &length);
	const char *abstract = port_devarg(device, "socket-abstract", &abstract_length);
	char folder[PORT_DEVICE_MAX];
	char *end;

	if (!is_of(device, "net_memif") || socket == NULL || abstract == NULL ||
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
	snprintf(why, PORT_LACKS_MAX, "its socket lies in %.120s, which cannot be written to: %s",
		folder, strerror(errno));
	return true;
}

bool port_lacks(const char *device, char *why)
{
	return lacks_capabilities(device, why) || lacks_tun(device, why) ||
	       lacks_locked_memory(device, why) || lacks_socket_folder(device, why);
}
