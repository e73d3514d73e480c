/* SPDX-License-Identifier: BSD-3-Clause */

#include "parallel/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/regular_file.h"
#include "base/signals.h"
#include "config/config.h"

#define NAME_LEN_MAX 64
#define SOCKET       "dpdk_telemetry.v2"

static int directory_fd = -1;
static char prefix[NAME_LEN_MAX], directory[PATH_MAX], socket_path[PATH_MAX + 32];

/* EAL takes an empty directory name for "/". */
static void unset_if_empty(const char *variable)
{
	const char *value = getenv(variable);

	if (value != NULL && value[0] == '\0')
		unsetenv(variable);
}

/* EAL creates its runtime directory "dpdk" in this directory. */
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

static bool is_shared(const struct stat *found)
{
	return (found->st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH);
}

/* In a shared directory such as /tmp, "dpdk" must be shared too: other users may run DPDK. */
static bool make_root(const char *path)
{
	struct stat above;

	if (mkdir(path, 0700) != 0)
		return errno == EEXIST;
	if (stat(runtime_root(), &above) == 0 && is_shared(&above))
		chmod(path, S_ISVTX | S_IRWXU | S_IRWXG | S_IRWXO);
	return true;
}

/* Returns NULL if no other user can replace or change the directory, otherwise the problem. */
static const char *distrust(const struct stat *found, bool is_root)
{
	struct stat above;
	int error;

	if (!S_ISDIR(found->st_mode))
		return "not a directory";
	if (is_root && geteuid() != 0 && is_shared(found) && stat(runtime_root(), &above) == 0 &&
		is_shared(&above))
		return NULL;
	error = is_root || found->st_uid == geteuid() ? file_folder_check(found, is_root)
						      : FOLDER_OF_ANOTHER;
	return error != 0 ? file_error(error) : NULL;
}

static bool is_trusted(const char *path, bool is_root, char *error)
{
	struct stat found;
	const char *why = NULL;

	if (lstat(path, &found) == 0)
		why = distrust(&found, is_root);
	else if (errno != ENOENT) /* ENOENT: another instance has just removed it */
		why = strerror(errno);
	if (why != NULL)
		snprintf(error, PROCESS_ERROR_MAX,
			"%.300s: %s; remove it, let only your user write to it, or set "
			"RUNTIME_DIRECTORY to another directory",
			path, why);
	return why == NULL;
}

static bool make_directories(char *error)
{
	int len = snprintf(directory, sizeof(directory), "%s/dpdk", runtime_root());

	if (len < 0 || (size_t)len + sizeof(prefix) + 1 > sizeof(directory)) {
		snprintf(error, PROCESS_ERROR_MAX,
			"%.200s...: path too long; set RUNTIME_DIRECTORY to another directory",
			runtime_root());
		return false;
	}
	if (make_root(directory)) {
		if (!is_trusted(directory, true, error))
			return false;
		snprintf(directory + len, sizeof(directory) - (size_t)len, "/%s", prefix);
		if (mkdir(directory, 0700) == 0)
			return true;
		if (errno == EEXIST)
			return is_trusted(directory, false, error);
	}
	snprintf(error, PROCESS_ERROR_MAX,
		"%.300s: cannot create: %s; set RUNTIME_DIRECTORY to another directory", directory,
		strerror(errno));
	return false;
}

static int lock_directory(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int error;

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

/* True if `directory` still names the open directory `fd`, and no other user can change it. */
static bool is_there(int fd)
{
	struct stat named, locked;

	return lstat(directory, &named) == 0 && fstat(fd, &locked) == 0 &&
	       named.st_ino == locked.st_ino && named.st_dev == locked.st_dev &&
	       distrust(&locked, false) == NULL;
}

/* EAL registers its exit handler later, so that one runs before and has removed its socket. */
static void remove_directory(void)
{
	signals_remove_at_exit(NULL, NULL);
	rmdir(directory);
}

/* Closes `fd`. */
static void empty_directory(int fd)
{
	DIR *stream = fdopendir(fd);
	struct dirent *entry;

	if (stream == NULL) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(stream)) != NULL)
		unlinkat(dirfd(stream), entry->d_name, 0);
	closedir(stream);
}

static bool names_dead_process(const char *name)
{
	size_t digits;
	long pid;

	if (strncmp(name, PROCESS_PREFIX, strlen(PROCESS_PREFIX)) != 0)
		return false;
	name += strlen(PROCESS_PREFIX);
	digits = strspn(name, "0123456789");
	if (digits == 0 || digits > 9 || name[digits] != '\0')
		return false;
	pid = strtol(name, NULL, 10);
	return pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/*
 * Removes the directories of dead processes without --name, because no later process reuses them.
 */
static void remove_left_behind(void)
{
	char root[PATH_MAX];
	DIR *stream;
	struct dirent *entry;

	snprintf(root, sizeof(root), "%s/dpdk", runtime_root());
	stream = opendir(root);
	if (stream == NULL)
		return;
	while ((entry = readdir(stream)) != NULL) {
		struct stat left;
		int fd;

		if (!names_dead_process(entry->d_name))
			continue;
		fd = lock_directory(dirfd(stream), entry->d_name);
		if (fd < 0)
			continue;
		if (fstat(fd, &left) == 0 && left.st_uid == geteuid()) {
			empty_directory(dup(fd));
			unlinkat(dirfd(stream), entry->d_name, AT_REMOVEDIR);
		}
		close(fd); /* releases the lock */
	}
	closedir(stream);
}

bool process_claim(const char *name, char *error)
{
	int fd;

	unset_if_empty("RUNTIME_DIRECTORY");
	unset_if_empty("XDG_RUNTIME_DIR");
	if (name != NULL)
		snprintf(prefix, sizeof(prefix), PROCESS_PREFIX "%s", name);
	else
		snprintf(prefix, sizeof(prefix), PROCESS_PREFIX "%d", (int)getpid());
	/* Another process may remove the directory between its creation and the lock. */
	do {
		if (!make_directories(error))
			return false;
		fd = lock_directory(AT_FDCWD, directory);
	} while (fd < 0 ? errno == ENOENT : !is_there(fd) && close(fd) == 0);
	if (fd < 0) {
		snprintf(error, PROCESS_ERROR_MAX,
			errno == EWOULDBLOCK ? "%.300s: another sketchtap has this name; give "
					       "another --name"
					     : "%.300s: cannot lock this directory",
			directory);
		return false;
	}
	remove_left_behind();
	directory_fd = fd;
	/* directory_fd stays open, which keeps the lock until the process ends. */
	snprintf(socket_path, sizeof(socket_path), "%s/" SOCKET, directory);
	signals_remove_at_exit(socket_path, directory);
	atexit(remove_directory);
	return true;
}

int process_patterns(const char *name, char patterns[PROCESS_PATTERNS_MAX][PROCESS_PATTERN_MAX])
{
	const char *roots[PROCESS_PATTERNS_MAX] = {runtime_root(), "/run/sketchtap/*"};
	int n = getenv("RUNTIME_DIRECTORY") != NULL ? 1 : PROCESS_PATTERNS_MAX;

	for (int i = 0; i < n; i++)
		snprintf(patterns[i], PROCESS_PATTERN_MAX,
			"%.4000s/dpdk/" PROCESS_PREFIX "%.64s/" SOCKET, roots[i],
			name != NULL ? name : "*");
	return n;
}

const char *process_prefix(void)
{
	return prefix;
}

const char *process_socket(void)
{
	size_t room = sizeof(((struct sockaddr_un *)0)->sun_path);

	return strlen(socket_path) < room ? socket_path : NULL;
}

void process_keep_socket_private(void)
{
	fchmodat(directory_fd, SOCKET, S_IRUSR | S_IWUSR, 0);
}

#define PROCESS_NAME_MAX 40

bool process_name_allowed(const char *name)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";

	return strspn(name, allowed) == strlen(name) && strlen(name) <= PROCESS_NAME_MAX;
}

static bool check_name(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	const char *name = process_options(config)->name;

	if (name == NULL || process_name_allowed(name))
		return true;
	return option_fault(fault, "name", measurement,
		"'%.200s': not allowed; write at most %d letters, digits, dots, dashes and "
		"underscores",
		name, PROCESS_NAME_MAX);
}

static const struct option_row process_rows[] = {
	{
		.name = "name",
		.placeholder = "NAME",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_STRING,
		OPTION_FIELD(process_options, name),
		.rare = true,
		.default_note = "the process ID",
		.help = "Set the instance name, for sketchtap ctl --name NAME. Names are unique "
			"on a host.",
	},
	{0},
};

const struct option_owner process_owner = {
	.rows = process_rows,
	.size = sizeof(struct process_options),
	.check = check_name,
};
