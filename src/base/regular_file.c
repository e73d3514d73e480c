/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *regular_file_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), error;
	struct stat status;
	FILE *file = NULL;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &status) == 0) {
		errno = 0;
		if (S_ISREG(status.st_mode))
			file = fdopen(fd, "r");
	}
	if (file == NULL) {
		error = errno;
		close(fd);
		errno = error;
	}
	return file;
}
