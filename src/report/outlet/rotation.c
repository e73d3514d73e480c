/* SPDX-License-Identifier: BSD-3-Clause */

#include "report/outlet/rotation.h"

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

/* A path, as FOLDER STEM EXTENSION: "/var/log/" "flows" ".csv". */
struct parts {
	int folder_len, stem_len;
	const char *folder, *stem, *extension;
};

static struct parts split(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *stem = slash != NULL ? slash + 1 : path;
	const char *dot = strrchr(stem, '.');
	/* A leading dot hides a file and begins no extension. */
	const char *extension = dot != NULL && dot != stem ? dot : stem + strlen(stem);

	return (struct parts){
		.folder = path,
		.folder_len = (int)(stem - path),
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

/* Writes the stamp of a complete file's name; false where it is another file. */
static bool read_stamp(const struct parts *parts, const char *name, char stamp[STAMP_MAX])
{
	size_t len = strlen(name), extension_len = strlen(parts->extension);
	size_t stem_len = (size_t)parts->stem_len + 1; /* with its dash */

	if (len < stem_len + extension_len || len - stem_len - extension_len >= STAMP_MAX ||
		strncmp(name, parts->stem, stem_len - 1) != 0 || name[stem_len - 1] != '-' ||
		strcmp(name + len - extension_len, parts->extension) != 0)
		return false;
	len -= stem_len + extension_len;
	memcpy(stamp, name + stem_len, len);
	stamp[len] = '\0';
	return matches(stamp, "00000000T000000Z") || matches(stamp, "00000000T000000Z_0000");
}

static bool make_name(const struct parts *parts, const char *stamp, char name[PATH_MAX])
{
	int len = snprintf(name, PATH_MAX, "%.*s%.*s-%s%s", parts->folder_len, parts->folder,
		parts->stem_len, parts->stem, stamp, parts->extension);

	return len < PATH_MAX;
}

int rotation_move(const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return errno;
	/* A file system that does not know it: two steps, which replace nothing either. */
	if (link(from, to) != 0)
		return errno;
	return unlink(from) == 0 ? 0 : errno;
}

int rotation_rename(const char *path, int64_t start_ns, char name[PATH_MAX])
{
	struct parts parts = split(path);
	int error = EEXIST;

	for (unsigned int counter = 0; error == EEXIST && counter <= COUNTER_MAX; counter++) {
		char stamp[STAMP_MAX];

		make_stamp(stamp, start_ns, counter);
		error = make_name(&parts, stamp, name) ? rotation_move(path, name) : ENAMETOOLONG;
	}
	return error;
}

/* The folder of a path as a name of its own. */
static bool folder_of(const struct parts *parts, char folder[PATH_MAX])
{
	int len = snprintf(folder, PATH_MAX, "%.*s", parts->folder_len, parts->folder);

	if (len == 0)
		strcpy(folder, ".");
	return len < PATH_MAX;
}

int rotation_sync_folder(const char *path)
{
	struct parts parts = split(path);
	char folder[PATH_MAX];
	int fd = -1, error = 0;

	if (folder_of(&parts, folder))
		fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	if (fsync(fd) != 0)
		error = errno;
	close(fd);
	return error;
}

bool rotation_latest(const char *path, char name[PATH_MAX])
{
	struct parts parts = split(path);
	char folder[PATH_MAX], latest[STAMP_MAX] = "", stamp[STAMP_MAX];
	DIR *dir = folder_of(&parts, folder) ? opendir(folder) : NULL;

	if (dir == NULL)
		return false;
	for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
		if (read_stamp(&parts, entry->d_name, stamp) && strcmp(stamp, latest) > 0)
			strcpy(latest, stamp);
	}
	closedir(dir);
	return *latest != '\0' && make_name(&parts, latest, name);
}
