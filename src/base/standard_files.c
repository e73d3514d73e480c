/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/standard_files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

void standard_files_fill(void)
{
	for (int fd = open("/dev/null", O_RDWR); fd >= 0; fd = open("/dev/null", O_RDWR)) {
		if (fd > STDERR_FILENO) {
			close(fd);
			return;
		}
		if (fd == STDOUT_FILENO) {
			int read_only = open("/dev/null", O_RDONLY);

			dup2(read_only, fd);
			close(read_only);
		}
	}
}

static bool reader_left(void)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

	return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

bool standard_files_printed(void)
{
	if (fflush(stdout) != 0)
		return errno == EPIPE;
	/* An earlier write of the full buffer may have failed; its errno is lost. */
	return ferror(stdout) == 0 || reader_left();
}

int standard_files_own_pipe(int fd)
{
	char path[32];
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISFIFO(st.st_mode) ||
		(fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
}

ssize_t standard_files_write(int fd, const char *data, size_t len)
{
	ssize_t n = send(fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);

	return n < 0 && errno == ENOTSOCK ? write(fd, data, len) : n;
}

bool standard_files_is_output(const char *name)
{
	return strcmp(name, "-") == 0 || strcmp(name, "/dev/stdout") == 0;
}
