/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/sys_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"

#define LINE_MAX_BYTES 4096

struct sys_path {
	char text[SYS_PATH_MAX];
};

/* Returns false if the path is too long. */
__attribute__((format(printf, 3, 0))) static bool make_path(
	struct sys_path *path, const char *root, const char *format, va_list args)
{
	int used = snprintf(path->text, sizeof(path->text), "%s", root), more;

	if (used < 0 || used >= (int)sizeof(path->text))
		return false;
	more = vsnprintf(path->text + used, sizeof(path->text) - (size_t)used, format, args);
	return more > 0 && used + more < (int)sizeof(path->text);
}

#define MAKE_PATH(made, path, root, format)                                                        \
	do {                                                                                       \
		va_list args;                                                                      \
                                                                                                   \
		va_start(args, format);                                                            \
		made = make_path(&(path), root, format, args);                                     \
		va_end(args);                                                                      \
	} while (0)

static enum sys_read why_not(int error)
{
	return error == EACCES || error == EPERM ? SYS_DENIED : SYS_ABSENT;
}

/* O_NONBLOCK: a test may have a pipe in place of a file. */
static int open_path(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static ssize_t read_path(const char *path, char *bytes, size_t size)
{
	int fd = open_path(path), error;
	ssize_t length = 0;

	if (fd < 0)
		return -1;
	while ((size_t)length < size) {
		ssize_t more = read(fd, bytes + length, size - (size_t)length);

		if (more <= 0) {
			if (more < 0 && length == 0)
				length = -1;
			break;
		}
		length += more;
	}
	error = errno;
	close(fd);
	errno = error;
	return length;
}

static enum sys_read read_line(const char *path, char *line, size_t size)
{
	ssize_t length = read_path(path, line, size - 1);

	line[length > 0 ? length : 0] = '\0';
	if (length < 0)
		return why_not(errno);
	line[strcspn(line, "\n")] = '\0';
	make_ascii(line);
	return SYS_READ;
}

enum sys_read sys_line(const char *root, char *line, size_t size, const char *format, ...)
{
	struct sys_path path;
	bool made;

	line[0] = '\0';
	MAKE_PATH(made, path, root, format);
	return made ? read_line(path.text, line, size) : SYS_ABSENT;
}

enum sys_read sys_number(const char *root, int64_t *number, const char *format, ...)
{
	struct sys_path path;
	char line[64], *end;
	enum sys_read result;
	bool made;

	*number = 0;
	MAKE_PATH(made, path, root, format);
	result = made ? read_line(path.text, line, sizeof(line)) : SYS_ABSENT;
	if (result != SYS_READ)
		return result;
	errno = 0;
	*number = strtoll(line, &end, 10);
	if (end != line && errno == 0)
		return SYS_READ;
	*number = 0;
	return SYS_GARBAGE;
}

enum sys_read sys_link(const char *root, char *name, size_t size, const char *format, ...)
{
	struct sys_path path;
	char target[SYS_PATH_MAX];
	ssize_t length;
	const char *last;
	bool made;

	name[0] = '\0';
	MAKE_PATH(made, path, root, format);
	if (!made)
		return SYS_ABSENT;
	length = readlink(path.text, target, sizeof(target) - 1);
	if (length < 0)
		return why_not(errno);
	target[length] = '\0';
	last = strrchr(target, '/');
	snprintf(name, size, "%s", last != NULL ? last + 1 : target);
	make_ascii(name);
	return SYS_READ;
}

int sys_bytes(const char *root, uint8_t *bytes, size_t size, const char *format, ...)
{
	struct sys_path path;
	bool made;

	MAKE_PATH(made, path, root, format);
	return made ? (int)read_path(path.text, (char *)bytes, size) : -1;
}

bool sys_exists(const char *root, const char *format, ...)
{
	struct sys_path path;
	bool made;

	MAKE_PATH(made, path, root, format);
	return made && access(path.text, F_OK) == 0;
}

bool sys_allows(const char *root, int mode, const char *format, ...)
{
	struct sys_path path;
	bool made;

	MAKE_PATH(made, path, root, format);
	return made && faccessat(AT_FDCWD, path.text, mode, AT_EACCESS) == 0;
}

FILE *sys_open(const char *root, const char *format, ...)
{
	struct sys_path path;
	FILE *stream;
	bool made;
	int fd;

	MAKE_PATH(made, path, root, format);
	fd = made ? open_path(path.text) : -1;
	if (fd < 0)
		return NULL;
	stream = fdopen(fd, "r");
	if (stream == NULL)
		close(fd);
	return stream;
}

DIR *sys_directory(const char *root, const char *format, ...)
{
	struct sys_path path;
	bool made;

	MAKE_PATH(made, path, root, format);
	return made ? opendir(path.text) : NULL;
}

enum sys_read sys_field(const char *root, const char *path, const char *name, int64_t *number)
{
	enum sys_read result = SYS_ABSENT;
	size_t length = strlen(name);
	char line[LINE_MAX_BYTES];
	FILE *stream;

	*number = 0;
	stream = sys_open(root, "%s", path);
	if (stream == NULL)
		return why_not(errno);
	while (result == SYS_ABSENT && fgets(line, sizeof(line), stream) != NULL) {
		const char *at = strstr(line, name);
		char *end;

		if (at == NULL || (at != line && at[-1] != ' '))
			continue;
		at += length;
		at += strspn(at, ": \t");
		*number = strtoll(at, &end, 10);
		result = end != at ? SYS_READ : SYS_GARBAGE;
	}
	fclose(stream);
	return result;
}

enum sys_read sys_labelled(
	const char *root, const char *path, const char *label, char *rest, size_t size)
{
	FILE *stream = sys_open(root, "%s", path);
	enum sys_read result = SYS_ABSENT;
	size_t length = strlen(label);
	char line[LINE_MAX_BYTES];

	rest[0] = '\0';
	if (stream == NULL)
		return why_not(errno);
	while (result == SYS_ABSENT && fgets(line, sizeof(line), stream) != NULL)
		if (strncmp(line, label, length) == 0) {
			line[strcspn(line, "\n")] = '\0';
			snprintf(rest, size, "%s", line + length + strspn(line + length, ": \t"));
			result = SYS_READ;
		}
	fclose(stream);
	return result;
}

enum sys_read sys_kernel_parameter(const char *root, const char *name, char *value, size_t size)
{
	char line[LINE_MAX_BYTES], *rest = line;
	size_t length = strlen(name);
	enum sys_read result = sys_line(root, line, sizeof(line), "/proc/cmdline");

	value[0] = '\0';
	if (result != SYS_READ)
		return result;
	result = SYS_ABSENT;
	for (char *word = strtok_r(line, " ", &rest); word != NULL;
		word = strtok_r(NULL, " ", &rest))
		if (strncmp(word, name, length) == 0 && word[length] == '=') {
			snprintf(value, size, "%s", word + length + 1);
			result = SYS_READ;
		}
	return result;
}
