/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static void pass_byte_order_mark(FILE *file)
{
	char begin[8] = "";

	if (fgets(begin, 4, file) == NULL || byte_order_mark(begin) == 0)
		rewind(file);
}

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
	} else
		pass_byte_order_mark(file);
	return file;
}

int regular_file_create(const char *path, bool replace)
{
	struct stat stat;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd >= 0 || errno != EEXIST)
		return fd;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode))
		return fd;
	if (replace && ftruncate(fd, 0) == 0)
		return fd;
	if (!replace)
		errno = EEXIST;
	close(fd);
	return -1;
}
