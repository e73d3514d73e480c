/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/assertion.h"

#define FILE_ERRORS FILE_LINK_OF_ANOTHER /* Error numbers from here on are not errno. */
#define LINKS_MAX   16

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

	if (fd < 0)
		return NULL;
	error = fstat(fd, &status) != 0 ? errno : 0;
	if (error == 0 && S_ISREG(status.st_mode))
		return regular_file_text(fd);
	close(fd);
	errno = error;
	return NULL;
}

FILE *regular_file_text(int fd)
{
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	int error = errno;

	if (file != NULL)
		pass_byte_order_mark(file);
	else if (fd >= 0)
		close(fd);
	errno = error;
	return file;
}

ssize_t regular_file_line(FILE *file, char *text, size_t room)
{
	ssize_t length = 0;
	int c = 0;

	while (c != '\n' && length < (ssize_t)room - 1 && (c = getc_unlocked(file)) != EOF)
		text[length++] = (char)c;
	text[length] = '\0';
	return length > 0 ? length : -1;
}

static const char *const texts[] = {
	[FILE_LINK_OF_ANOTHER - FILE_ERRORS] =
		"a symbolic link of another user leads to it; name the file itself",
	[FILE_LINK_TO_NOTHING - FILE_ERRORS] = "symbolic link to a missing file; name that file",
	[FILE_OF_ANOTHER - FILE_ERRORS] = "belongs to another user; name another file",
	[FILE_HAS_OTHER_NAMES - FILE_ERRORS] =
		("has other names (hard links), and other users may write to its folder; name "
		 "another file"),
	[FILE_REPLACED - FILE_ERRORS] = "file was replaced meanwhile; start again",
	[FOLDER_OF_ANOTHER - FILE_ERRORS] = "the folder belongs to another user",
	[FOLDER_SHARED - FILE_ERRORS] = "the folder can be written to by other users",
};

const char *file_error(int error)
{
	VERIFY(error, <=, (int)FOLDER_SHARED);
	return error < FILE_ERRORS ? strerror(error) : texts[error - FILE_ERRORS];
}

static int close_failed(int fd)
{
	int error = errno;

	if (fd >= 0)
		close(fd);
	errno = error;
	return -1;
}

static bool is_trusted(uid_t user)
{
	return user == geteuid() || user == 0;
}

static int find_entry(struct file_entry *entry, int folder, const char *path, unsigned int links);

/* readlink() of a link in /proc may not return the path of the target. */
static bool is_in_proc(int fd)
{
	struct statfs file_system;

	return fstatfs(fd, &file_system) == 0 && file_system.f_type == PROC_SUPER_MAGIC;
}

/* `links` is the number of links followed so far. */
static int follow_link(struct file_entry *entry, int fd, unsigned int links)
{
	uid_t maker = entry->status.st_uid;
	char target[PATH_MAX];
	ssize_t len;
	int folder, error;

	if (links == LINKS_MAX)
		return ELOOP;
	if (is_in_proc(fd)) {
		if (fstatat(entry->folder, entry->name, &entry->status, 0) != 0)
			return errno;
		entry->is_descriptor = true;
	} else {
		len = readlinkat(fd, "", target, sizeof(target) - 1);
		if (len < 0)
			return errno;
		target[len] = '\0';
		folder = entry->folder;
		entry->folder = -1;
		error = find_entry(entry, folder, target, links + 1);
		if (error != 0)
			return error;
		if (!entry->exists)
			return is_trusted(maker) ? FILE_LINK_TO_NOTHING : FILE_LINK_OF_ANOTHER;
	}
	entry->is_link = true;
	return is_trusted(maker) || maker == entry->status.st_uid ? 0 : FILE_LINK_OF_ANOTHER;
}

static int open_entry(struct file_entry *entry, unsigned int links)
{
	int fd = openat(entry->folder, entry->name, O_PATH | O_NOFOLLOW | O_CLOEXEC), error = 0;

	entry->exists = fd >= 0;
	if (fd < 0)
		return errno == ENOENT ? 0 : errno;
	if (fstat(fd, &entry->status) != 0)
		error = errno;
	else if (S_ISLNK(entry->status.st_mode))
		error = follow_link(entry, fd, links);
	close(fd);
	return error;
}

/* O_DIRECTORY makes autofs mount the subfolder. */
static int enter_folder(struct file_entry *entry, unsigned int links)
{
	const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	int fd = openat(entry->folder, entry->name, flags | O_NOFOLLOW), error;

	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP)) {
		error = open_entry(entry, links);
		if (error != 0)
			return error == FILE_LINK_TO_NOTHING ? ENOENT : error;
		fd = openat(entry->folder, entry->name,
			flags | (entry->is_descriptor ? 0 : O_NOFOLLOW));
		entry->is_link = entry->is_descriptor = false;
	}
	if (fd < 0)
		return errno;
	close(entry->folder);
	entry->folder = fd;
	return 0;
}

/* Takes ownership of the descriptor `folder`. */
static int find_entry(struct file_entry *entry, int folder, const char *path, unsigned int links)
{
	int error = 0;

	*entry = (struct file_entry){.folder = folder};
	if (*path == '/') {
		file_entry_close(entry);
		entry->folder = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (entry->folder < 0)
		error = errno;
	else if (*path == '\0')
		error = ENOENT;
	for (bool last = false; !last && error == 0;) {
		size_t len;

		path += strspn(path, "/");
		len = strcspn(path, "/");
		last = path[len] == '\0';
		if (len > NAME_MAX) {
			error = ENAMETOOLONG;
			break;
		}
		snprintf(entry->name, sizeof(entry->name), "%.*s", len > 0 ? (int)len : 1,
			len > 0 ? path : ".");
		error = last ? open_entry(entry, links) : enter_folder(entry, links);
		path += len;
	}
	if (error != 0)
		file_entry_close(entry);
	return error;
}

int file_entry_find(struct file_entry *entry, const char *path)
{
	return find_entry(entry, open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), path, 0);
}

void file_entry_close(struct file_entry *entry)
{
	if (entry->folder >= 0)
		close(entry->folder);
	entry->folder = -1;
}

static int check(const struct file_entry *entry, const struct stat *file)
{
	struct stat folder;
	bool is_shared;

	if (entry->is_descriptor)
		return 0;
	if (fstat(entry->folder, &folder) != 0)
		return errno;
	is_shared = (folder.st_mode & S_IWOTH) != 0;
	if (!is_shared && is_trusted(folder.st_uid))
		return 0;
	if (!is_trusted(file->st_uid) && file->st_uid != folder.st_uid)
		return FILE_OF_ANOTHER;
	if (file->st_nlink > 1 && !S_ISDIR(file->st_mode) &&
		(is_shared || file->st_uid != folder.st_uid))
		return FILE_HAS_OTHER_NAMES;
	return 0;
}

int file_entry_check(const struct file_entry *entry)
{
	return entry->exists ? check(entry, &entry->status) : 0;
}

int file_entry_open(const struct file_entry *entry, int flags, mode_t mode)
{
	struct stat opened;
	int fd, error;

	if (!entry->exists)
		return openat(
			entry->folder, entry->name, flags | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	/* Check before open(), which would block on another user's FIFO. */
	error = file_entry_check(entry);
	if (error != 0) {
		errno = error;
		return -1;
	}
	fd = openat(entry->folder, entry->name,
		flags | O_CLOEXEC | (entry->is_descriptor ? 0 : O_NOFOLLOW));
	if (fd < 0)
		return -1;
	error = fstat(fd, &opened) != 0 ? errno
		: (opened.st_mode & S_IFMT) != (entry->status.st_mode & S_IFMT)
			? FILE_REPLACED
			: check(entry, &opened);
	if (error == 0)
		return fd;
	close(fd);
	errno = error;
	return -1;
}

int file_entry_check_own(const struct file_entry *entry)
{
	struct stat folder;
	int error;

	if (entry->is_link || (entry->exists && !S_ISREG(entry->status.st_mode)))
		return EINVAL;
	if (fstat(entry->folder, &folder) != 0)
		return errno;
	error = file_folder_check(&folder, true);
	if (error == 0 && entry->exists && !is_trusted(entry->status.st_uid))
		error = FILE_OF_ANOTHER;
	return error;
}

int regular_file_create(const char *path, bool replace)
{
	struct file_entry entry;
	int fd = -1, error = file_entry_find(&entry, path);
	bool is_old;

	if (error != 0) {
		errno = error;
		return -1;
	}
	is_old = entry.exists && S_ISREG(entry.status.st_mode);
	if (is_old && !replace)
		errno = EEXIST;
	else
		fd = file_entry_open(&entry, O_WRONLY, 0666);
	if (fd >= 0 && is_old && ftruncate(fd, 0) != 0)
		fd = close_failed(fd);
	error = errno;
	file_entry_close(&entry);
	errno = error;
	return fd;
}

int file_folder_check(const struct stat *folder, bool sticky)
{
	mode_t shared = folder->st_mode & (S_IWGRP | S_IWOTH);

	if (!is_trusted(folder->st_uid))
		return FOLDER_OF_ANOTHER;
	if (shared == 0 || (sticky && (folder->st_mode & S_ISVTX) != 0))
		return 0;
	return shared == S_IWGRP && folder->st_uid != geteuid() ? 0 : FOLDER_SHARED;
}

int file_folder_open(const char *path)
{
	struct file_entry entry;
	struct stat folder;
	int fd, error = file_entry_find(&entry, path);

	if (error != 0) {
		errno = error;
		return -1;
	}
	if (!entry.exists)
		(void)mkdirat(entry.folder, entry.name, 0700);
	fd = openat(entry.folder, entry.name,
		O_RDONLY | O_DIRECTORY | O_CLOEXEC | (entry.is_descriptor ? 0 : O_NOFOLLOW));
	error = fd < 0 || fstat(fd, &folder) != 0 ? errno : file_folder_check(&folder, false);
	file_entry_close(&entry);
	if (error == 0)
		return fd;
	errno = error;
	return close_failed(fd);
}

int file_folder_file(int folder, const char *name, int flags, mode_t mode)
{
	int fd = openat(folder, name, flags | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, mode), error;
	struct stat file;

	if (fd < 0) {
		if (errno == ELOOP)
			errno = EINVAL;
		return -1;
	}
	error = fstat(fd, &file) != 0                                  ? errno
		: S_ISDIR(file.st_mode)                                ? EISDIR
		: !S_ISREG(file.st_mode)                               ? EINVAL
		: !is_trusted(file.st_uid)                             ? FILE_OF_ANOTHER
		: file.st_nlink > 1 && (flags & O_ACCMODE) != O_RDONLY ? FILE_HAS_OTHER_NAMES
								       : 0;
	if (error == 0)
		return fd;
	errno = error;
	return close_failed(fd);
}
