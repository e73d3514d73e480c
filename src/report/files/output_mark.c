/* SPDX-License-Identifier: BSD-3-Clause */

#include "report/files/output_mark.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

#define NAME     "user.sketchtap"
#define TEXT_MAX 48 /* two numbers of up to 20 digits */

bool output_mark_read(int fd, struct output_mark *mark)
{
	char text[TEXT_MAX + 1];
	ssize_t len = fgetxattr(fd, NAME, text, TEXT_MAX);

	if (len < 0)
		return false;
	text[len] = '\0';
	return sscanf(text, "%" SCNu64 " %" SCNu64, &mark->whole, &mark->next) == 2;
}

void output_mark_write(int fd, const struct output_mark *mark)
{
	char text[TEXT_MAX];
	int len = snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64, mark->whole, mark->next);

	if (fsetxattr(fd, NAME, text, (size_t)len, 0) != 0)
		output_mark_remove(fd);
}

void output_mark_remove(int fd)
{
	fremovexattr(fd, NAME);
}
