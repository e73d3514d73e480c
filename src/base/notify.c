/* SPDX-License-Identifier: BSD-3-Clause */

#include "base/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/decimal.h"

/* @NAME is an abstract socket. Returns 0 if the name is invalid. */
static socklen_t make_address(struct sockaddr_un *address, const char *name)
{
	size_t length = strlen(name);

	if ((name[0] != '/' && name[0] != '@') || length < 2 || length >= sizeof(address->sun_path))
		return 0;
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(address->sun_path, name, length);
	if (name[0] == '@')
		address->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

/* The maximum is UINT64_MAX / 1000, so that us * 1000 does not overflow. */
static bool parse_number(const char *text, uint64_t *value)
{
	return decimal_read(text, UINT64_MAX / 1000, value);
}

static const char *open_socket(struct notify *notify, const char *name)
{
	struct sockaddr_un address;
	socklen_t length = make_address(&address, name);

	if (length == 0)
		return "NOTIFY_SOCKET: not a path or an abstract name (@NAME)";
	notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (notify->fd < 0)
		return "NOTIFY_SOCKET: cannot create a socket";
	if (connect(notify->fd, (struct sockaddr *)&address, length) == 0)
		return NULL;
	notify_close(notify);
	return "NOTIFY_SOCKET: cannot connect";
}

/* WATCHDOG_PID may be another process, such as the parent. */
static const char *read_watchdog(struct notify *notify, const char *period, const char *pid)
{
	uint64_t us, for_pid;

	if (period == NULL)
		return NULL;
	if (!parse_number(period, &us) || us == 0)
		return "WATCHDOG_USEC: not a number of microseconds";
	if (pid != NULL && !parse_number(pid, &for_pid))
		return "WATCHDOG_PID: not a process number";
	if (pid == NULL || for_pid == (uint64_t)getpid())
		notify->watchdog_ns = us * 1000;
	return NULL;
}

const char *notify_open(struct notify *notify)
{
	const char *name = getenv("NOTIFY_SOCKET"), *why = NULL;

	*notify = (struct notify){.fd = -1};
	if (name != NULL)
		why = open_socket(notify, name);
	if (notify->fd >= 0)
		why = read_watchdog(notify, getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"));
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	return why;
}

void notify_close(struct notify *notify)
{
	if (notify->fd >= 0)
		close(notify->fd);
	notify->fd = -1;
}

bool notify_send(const struct notify *notify, const char *message)
{
	return notify->fd < 0 ||
	       send(notify->fd, message, strlen(message), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}
