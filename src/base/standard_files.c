/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/standard_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
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

bool standard_files_printed(void)
{
	return fflush(stdout) == 0 || errno == EPIPE;
}

bool standard_files_is_output(const char *name)
{
	return strcmp(name, "-") == 0 || strcmp(name, "/dev/stdout") == 0;
}
