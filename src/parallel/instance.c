/* SPDX-License-Identifier: BSD-3-Clause */

#include "parallel/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/signals.h"

#define NAME_LEN_MAX 64

static char prefix[NAME_LEN_MAX], directory[PATH_MAX], socket_path[PATH_MAX + 32];

/* As EAL chooses it. */
static const char *runtime_root(void)
{
	const char *root = getenv("RUNTIME_DIRECTORY");

	if (root != NULL)
		return root;
	if (getuid() == 0)
		return "/var/run";
	root = getenv("XDG_RUNTIME_DIR");
	return root != NULL ? root : "/tmp";
}

static bool make_directories(char *error)
{
	int len = snprintf(directory, sizeof(directory), "%s/dpdk", runtime_root());

	if (len < 0 || (size_t)len + sizeof(prefix) + 1 > sizeof(directory)) {
		snprintf(error, INSTANCE_ERROR_MAX, "%.200s...: too long for a directory",
			runtime_root());
		return false;
	}
	if (mkdir(directory, 0700) == 0 || errno == EEXIST) {
		snprintf(directory + len, sizeof(directory) - (size_t)len, "/%s", prefix);
		if (mkdir(directory, 0700) == 0 || errno == EEXIST)
			return true;
	}
	snprintf(error, INSTANCE_ERROR_MAX,
		"%.300s: cannot be made: %s; RUNTIME_DIRECTORY names another place", directory,
		strerror(errno));
	return false;
}

/* Returns the descriptor that holds the lock; -1 with the reason in errno. */
static int lock_directory(void)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int error;

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static bool is_there(int fd)
{
	struct stat named, locked;

	return stat(directory, &named) == 0 && fstat(fd, &locked) == 0 &&
	       named.st_ino == locked.st_ino && named.st_dev == locked.st_dev;
}

/* Runs after EAL has removed its socket: what was registered first comes last. */
static void remove_directory(void)
{
	signals_remove_at_exit(NULL, NULL);
	rmdir(directory);
}

bool instance_claim(const char *name, char *error)
{
	int fd;

	if (name != NULL)
		snprintf(prefix, sizeof(prefix), "sketchtap-%s", name);
	else
		snprintf(prefix, sizeof(prefix), "sketchtap-%d", (int)getpid());
	do { /* its last owner may just remove it */
		if (!make_directories(error))
			return false;
		fd = lock_directory();
	} while (fd < 0 ? errno == ENOENT : !is_there(fd) && close(fd) == 0);
	if (fd < 0) {
		snprintf(error, INSTANCE_ERROR_MAX,
			errno == EWOULDBLOCK ? "%.300s: another sketchtap has this name; give "
					       "another --name"
					     : "%.300s: cannot be locked",
			directory);
		return false;
	}
	/* The descriptor stays open, and with it the lock, until the process ends. */
	snprintf(socket_path, sizeof(socket_path), "%s/dpdk_telemetry.v2", directory);
	signals_remove_at_exit(socket_path, directory);
	atexit(remove_directory);
	return true;
}

const char *instance_prefix(void)
{
	return prefix;
}

const char *instance_socket(void)
{
	size_t room = sizeof(((struct sockaddr_un *)0)->sun_path);

	return strlen(socket_path) < room ? socket_path : NULL;
}
