/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/device_lock.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/regular_file.h"
#include "rx/port/drivers.h"

static bool devarg_is(const char *device, const char *key, const char *value, bool by_default)
{
	int length;
	const char *text = port_devarg(device, key, &length);

	return text == NULL ? by_default
			    : (size_t)length == strlen(value) &&
				      strncmp(text, value, (size_t)length) == 0;
}

/* Returns false if the device does not listen, or if the path is too long. */
static bool listening_address(const struct port_listener *listener, const char *device,
	struct sockaddr_un *address, socklen_t *size)
{
	int length;
	const char *path = port_devarg(device, listener->path_key, &length);
	bool abstract =
		listener->abstract != NULL && !devarg_is(device, listener->abstract, "no", false);

	if (!devarg_is(device, listener->role_key, listener->listens, listener->by_default))
		return false;
	if (path == NULL && listener->fallback != NULL) {
		path = listener->fallback;
		length = (int)strlen(path);
	}
	if (path == NULL || (size_t)length >= sizeof(address->sun_path) - 1)
		return false;
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(address->sun_path + abstract, path, (size_t)length);
	*size = abstract ? (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)
			 : (socklen_t)sizeof(*address);
	return true;
}

/* Only SOCK_SEQPACKET sockets, which memif uses, are found. */
static bool abstract_taken(const struct sockaddr_un *address, socklen_t size)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	bool taken = fd >= 0 && bind(fd, (const struct sockaddr *)address, size) != 0 &&
		     errno == EADDRINUSE;

	if (fd >= 0)
		close(fd);
	return taken;
}

/*
 * Connects with a socket type that no device uses, so that a listening process is not disturbed.
 * Returns EPROTOTYPE if a process listens, ECONNREFUSED if the socket is stale.
 */
static int try_to_connect(const struct sockaddr_un *address, socklen_t size)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int error = 0;

	if (fd < 0)
		return 0;
	if (connect(fd, (const struct sockaddr *)address, size) != 0)
		error = errno;
	close(fd);
	return error;
}

/* Keeps files that another user created in a folder such as /tmp. */
static bool remove_socket(const char *path)
{
	struct file_entry entry;
	bool removed;

	if (file_entry_find(&entry, path) != 0)
		return false;
	removed = entry.exists && !entry.is_link && S_ISSOCK(entry.status.st_mode) &&
		  file_entry_check(&entry) == 0 && unlinkat(entry.folder, entry.name, 0) == 0;
	file_entry_close(&entry);
	return removed;
}

static bool socket_taken(const struct sockaddr_un *address, socklen_t size,
	const struct port_name *name, struct port_messages *messages, char *error)
{
	bool abstract = address->sun_path[0] == '\0';
	const char *path = address->sun_path + abstract;
	int result = abstract ? 0 : try_to_connect(address, size);

	if (result == EPROTOTYPE || (abstract && abstract_taken(address, size))) {
		snprintf(error, DEVICE_LOCK_ERROR_MAX,
			"--port %s: another process listens on %s; stop it, or use another socket",
			name->called, path);
		return true;
	}
	if (result == ECONNREFUSED && remove_socket(path))
		port_notice(messages, "%s: removed %s, a stale socket", name->called, path);
	return false;
}

/* If two processes open a tap interface, each gets a part of the packets. */
static bool tap_taken(const struct port_name *name, char *error)
{
	struct port_interface facts;
	char interface[IFNAMSIZ];
	int length;
	const char *iface = port_devarg(name->device, "iface", &length);

	if (iface == NULL || length >= IFNAMSIZ)
		return false;
	snprintf(interface, sizeof(interface), "%.*s", length, iface);
	if (!port_interface_read(interface, &facts) || !facts.running)
		return false;
	snprintf(error, DEVICE_LOCK_ERROR_MAX,
		"--port %s: another process uses the interface %s, and each would receive a part "
		"of its packets; stop it, or use another interface",
		name->called, interface);
	return true;
}

bool port_is_locked(const struct port_name *name, struct port_messages *messages, char *error)
{
	const struct port_driver *driver = port_driver_of_device(name->device);
	struct sockaddr_un address;
	socklen_t size;

	if (driver->makes_interface)
		return tap_taken(name, error);
	return driver->listener != NULL &&
	       listening_address(driver->listener, name->device, &address, &size) &&
	       socket_taken(&address, size, name, messages, error);
}
