/* SPDX-License-Identifier: BSD-3-Clause */

#include "report/sinks/rotation.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"

#define STAMP_MAX   32 /* 20261120T170000Z_0001 */
#define COUNTER_MAX 9999

struct rotation_parts {
	int stem_len;
	const char *stem, *extension;
};

static struct rotation_parts split(const char *stem)
{
	const char *dot = strrchr(stem, '.');
	const char *extension = dot != NULL && dot != stem ? dot : stem + strlen(stem);

	return (struct rotation_parts){
		.stem = stem,
		.stem_len = (int)(extension - stem),
		.extension = extension,
	};
}

static void make_stamp(char stamp[STAMP_MAX], int64_t ns, unsigned int counter)
{
	time_t seconds = ns / SECOND_NS - (ns % SECOND_NS < 0);
	struct tm tm;
	size_t len;

	gmtime_r(&seconds, &tm);
	len = strftime(stamp, STAMP_MAX, "%Y%m%dT%H%M%SZ", &tm);
	if (counter > 0)
		snprintf(stamp + len, STAMP_MAX - len, "_%04u", counter);
}

static bool matches(const char *text, const char *pattern)
{
	for (; *pattern != '\0'; pattern++, text++) {
		bool digit = *text >= '0' && *text <= '9';

		if (*pattern == '0' ? !digit : *text != *pattern)
			return false;
	}
	return *text == '\0';
}

static bool read_stamp(const struct rotation_parts *parts, const char *name, char stamp[STAMP_MAX])
{
	size_t len = strlen(name), extension_len = strlen(parts->extension);
	size_t stem_len = (size_t)parts->stem_len + 1;

	if (len < stem_len + extension_len || len - stem_len - extension_len >= STAMP_MAX ||
		strncmp(name, parts->stem, stem_len - 1) != 0 || name[stem_len - 1] != '-' ||
		strcmp(name + len - extension_len, parts->extension) != 0)
		return false;
	len -= stem_len + extension_len;
	memcpy(stamp, name + stem_len, len);
	stamp[len] = '\0';
	return matches(stamp, "00000000T000000Z") || matches(stamp, "00000000T000000Z_0000");
}

static bool make_name(
	const struct rotation_parts *parts, const char *stamp, char name[NAME_MAX + 1])
{
	int len = snprintf(name, NAME_MAX + 1, "%.*s-%s%s", parts->stem_len, parts->stem, stamp,
		parts->extension);

	return len <= NAME_MAX;
}

static int move(int folder, const char *from, const char *to)
{
	if (renameat2(folder, from, folder, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return errno;
	/* For file systems without renameat2(): link and unlink also never overwrite a file. */
	if (linkat(folder, from, folder, to, 0) != 0)
		return errno;
	return unlinkat(folder, from, 0) == 0 ? 0 : errno;
}

int rotation_rename(const struct file_entry *entry, int64_t start_ns, char name[NAME_MAX + 1])
{
	struct rotation_parts parts = split(entry->name);
	int error = EEXIST;

	for (unsigned int counter = 0; error == EEXIST && counter <= COUNTER_MAX; counter++) {
		char stamp[STAMP_MAX];

		make_stamp(stamp, start_ns, counter);
		error = make_name(&parts, stamp, name) ? move(entry->folder, entry->name, name)
						       : ENAMETOOLONG;
	}
	return error;
}

int rotation_undo(const struct file_entry *entry, const char *name)
{
	return move(entry->folder, name, entry->name);
}

int rotation_sync_folder(const struct file_entry *entry)
{
	int fd = openat(entry->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), error = 0;

	if (fd < 0)
		return errno;
	if (fsync(fd) != 0)
		error = errno;
	close(fd);
	return error;
}

static int open_complete(int folder, const char *name)
{
	struct file_entry complete = {.folder = folder, .exists = true};

	snprintf(complete.name, sizeof(complete.name), "%s", name);
	if (fstatat(folder, name, &complete.status, AT_SYMLINK_NOFOLLOW) != 0 ||
		!S_ISREG(complete.status.st_mode))
		return -1;
	return file_entry_open(&complete, O_RDONLY | O_NONBLOCK, 0);
}

int rotation_latest(const char *path)
{
	char latest[STAMP_MAX] = "", stamp[STAMP_MAX];
	struct file_entry entry;
	struct rotation_parts parts;
	int fd = -1, listed;
	DIR *dir;

	if (file_entry_find(&entry, path) != 0)
		return -1;
	parts = split(entry.name);
	listed = openat(entry.folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = listed >= 0 ? fdopendir(listed) : NULL;
	for (struct dirent *of; dir != NULL && (of = readdir(dir)) != NULL;) {
		int newer;

		if (!read_stamp(&parts, of->d_name, stamp) || strcmp(stamp, latest) <= 0)
			continue;
		newer = open_complete(entry.folder, of->d_name);
		if (newer < 0)
			continue;
		if (fd >= 0)
			close(fd);
		fd = newer;
		strcpy(latest, stamp);
	}
	if (dir != NULL)
		closedir(dir);
	else if (listed >= 0)
		close(listed);
	file_entry_close(&entry);
	return fd;
}
