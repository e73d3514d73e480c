/* SPDX-License-Identifier: BSD-3-Clause */

/* Links, files and FIFOs of another user under the name of an output file: they stay unchanged. */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/regular_file.h"

#define OTHER 65534
#define TEXT  "not yours"

static char directory[] = "/tmp/test_regular_file.XXXXXX";

static void put(const char *name)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	fputs(TEXT, file);
	assert_int_equal(fclose(file), 0);
}

static void assert_text(const char *name, const char *text)
{
	char found[64] = "";
	FILE *file = fopen(name, "r");

	assert_non_null(file);
	(void)!fread(found, 1, sizeof(found) - 1, file);
	fclose(file);
	assert_string_equal(found, text);
}

/* Opens the file for replacement. Returns 0 or the error. */
static int replace(const char *path)
{
	int fd = regular_file_create(path, true);

	if (fd < 0)
		return errno;
	assert_int_equal(close(fd), 0);
	return 0;
}

static void give(const char *name)
{
	assert_int_equal(lchown(name, OTHER, OTHER), 0);
}

static int enter(void **state)
{
	(void)state;
	strcpy(strrchr(directory, '.') + 1, "XXXXXX");
	return mkdtemp(directory) == NULL || chdir(directory) != 0;
}

static int leave(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return chdir("/") != 0 || system(command) != 0;
}

static void links_of_this_user(void **state)
{
	(void)state;
	put("file");
	assert_int_equal(mkdir("folder", 0777), 0);
	assert_int_equal(symlink("file", "link"), 0);
	assert_int_equal(symlink("link", "second"), 0);
	assert_int_equal(symlink("../second", "folder/third"), 0);
	assert_int_equal(symlink("folder/.././folder//", "way"), 0);
	assert_int_equal(symlink("missing", "dangling"), 0);
	assert_int_equal(symlink("turn", "turn"), 0);
	assert_int_equal(replace("way/third"), 0);
	assert_text("file", "");
	assert_int_equal(replace("way/new"), 0);
	assert_int_equal(access("folder/new", F_OK), 0);
	assert_int_equal(replace("dangling"), FILE_LINK_TO_NOTHING);
	assert_int_equal(replace("dangling/file"), ENOENT);
	assert_int_not_equal(access("missing", F_OK), 0);
	assert_int_equal(replace("turn"), ELOOP);
	assert_int_equal(replace(""), ENOENT);
	assert_int_equal(replace("nowhere/file"), ENOENT);
	assert_int_equal(replace("file/file"), ENOTDIR);
	assert_int_equal(replace("folder/"), EISDIR);
	assert_int_equal(replace("."), EISDIR);
	assert_int_equal(replace("/"), EISDIR);
	assert_int_equal(replace("/dev/null"), 0);
	assert_int_equal(regular_file_create("file", false), -1);
	assert_int_equal(errno, EEXIST);
}

static void descriptors(void **state)
{
	char path[64];
	int ends[2], fd;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[1]);
	fd = regular_file_create(path, true);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(read(ends[0], path, 1), 1);
	close(fd);
	close(ends[0]);
	close(ends[1]);
}

/* Links of another user: as the last path component, before it, and after a link of this user. */
static void links_of_another(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	put("file");
	put("theirs");
	give("theirs");
	assert_int_equal(mkdir("folder", 0755), 0);
	assert_int_equal(symlink("file", "link"), 0);
	assert_int_equal(symlink("folder", "way"), 0);
	assert_int_equal(symlink("missing", "dangling"), 0);
	assert_int_equal(symlink("theirs", "own"), 0);
	give("link");
	give("way");
	give("dangling");
	give("own");
	assert_int_equal(symlink("link", "behind"), 0);
	assert_int_equal(replace("link"), FILE_LINK_OF_ANOTHER);
	assert_int_equal(replace("behind"), FILE_LINK_OF_ANOTHER);
	assert_int_equal(replace("way/file"), FILE_LINK_OF_ANOTHER);
	assert_int_equal(replace("dangling"), FILE_LINK_OF_ANOTHER);
	assert_text("file", TEXT);
	assert_int_not_equal(access("missing", F_OK), 0);
	assert_int_not_equal(access("folder/file", F_OK), 0);
	/* The target belongs to that user. */
	assert_int_equal(replace("own"), 0);
	give("folder");
	assert_int_equal(replace("way/file"), 0);
}

/* Existing files, by mode and owner of the folder. */
static void files_of_others(void **state)
{
	static const struct {
		mode_t mode;
		uid_t folder, file;
		bool linked;
		int error;
	} rows[] = {
		{0755, 0, 0, true, 0},
		{0755, 0, OTHER, false, 0},
		{0775, 0, OTHER, false, 0},
		{01777, 0, 0, false, 0},
		{01777, 0, OTHER, false, FILE_OF_ANOTHER},
		{0777, 0, OTHER, false, FILE_OF_ANOTHER},
		{0777, 0, 0, true, FILE_HAS_OTHER_NAMES},
		{01777, 0, 0, true, FILE_HAS_OTHER_NAMES},
		{0755, OTHER, OTHER, false, 0},
		{0755, OTHER, OTHER, true, 0},
		{0755, OTHER, 0, false, 0},
		{0755, OTHER, 0, true, FILE_HAS_OTHER_NAMES},
		{0755, OTHER, 1234, false, FILE_OF_ANOTHER},
		{01777, OTHER, OTHER, false, 0},
		{01777, OTHER, OTHER, true, FILE_HAS_OTHER_NAMES},
	};

	(void)state;
	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("row %zu\n", i);
		assert_int_equal(mkdir("shared", 0700), 0);
		put("shared/file");
		if (rows[i].linked)
			assert_int_equal(link("shared/file", "second"), 0);
		assert_int_equal(chown("shared/file", rows[i].file, rows[i].file), 0);
		assert_int_equal(chown("shared", rows[i].folder, rows[i].folder), 0);
		assert_int_equal(chmod("shared", rows[i].mode), 0);
		assert_int_equal(replace("shared/file"), rows[i].error);
		assert_text("shared/file", rows[i].error == 0 ? "" : TEXT);
		assert_int_equal(replace("shared/new"), 0);
		unlink("second");
		assert_int_equal(unlink("shared/file"), 0);
		assert_int_equal(unlink("shared/new"), 0);
		assert_int_equal(rmdir("shared"), 0);
	}
}

/* open() does not wait for a reader of another user's FIFO. */
static void fifos_of_others(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(mkdir("shared", 0700), 0);
	assert_int_equal(chmod("shared", 01777), 0);
	assert_int_equal(mkfifo("shared/fifo", 0666), 0);
	give("shared/fifo");
	assert_int_equal(replace("shared/fifo"), FILE_OF_ANOTHER);
}

/* The name changes between find and open. */
static void files_that_are_replaced(void **state)
{
	struct file_entry entry;

	(void)state;
	put("file");
	put("victim");
	assert_int_equal(file_entry_find(&entry, "file"), 0);
	assert_int_equal(unlink("file"), 0);
	assert_int_equal(symlink("victim", "file"), 0);
	assert_int_equal(file_entry_open(&entry, O_WRONLY | O_TRUNC, 0), -1);
	assert_int_equal(errno, ELOOP);
	assert_int_equal(unlink("file"), 0);
	assert_int_equal(mkfifo("file", 0600), 0);
	assert_int_equal(file_entry_open(&entry, O_RDWR | O_NONBLOCK, 0), -1);
	assert_int_equal(errno, FILE_REPLACED);
	file_entry_close(&entry);
	assert_int_equal(file_entry_find(&entry, "new"), 0);
	assert_int_equal(symlink("made", "new"), 0);
	assert_int_equal(file_entry_open(&entry, O_WRONLY, 0600), -1);
	assert_int_equal(errno, EEXIST);
	assert_int_not_equal(access("made", F_OK), 0);
	file_entry_close(&entry);
	assert_text("victim", TEXT);
}

/* A folder of root with a group is safe for the users of the group. */
static void folders(void **state)
{
	const uid_t self = geteuid(), another = self + 1;
	const struct {
		mode_t mode;
		uid_t owner;
		int plain, sticky;
	} rows[] = {
		{0700, self, 0, 0},
		{0755, self, 0, 0},
		{0755, 0, 0, 0},
		{0700, another, FOLDER_OF_ANOTHER, FOLDER_OF_ANOTHER},
		{01777, another, FOLDER_OF_ANOTHER, FOLDER_OF_ANOTHER},
		{0770, self, FOLDER_SHARED, FOLDER_SHARED},
		{01777, 0, FOLDER_SHARED, 0},
		{0777, 0, FOLDER_SHARED, FOLDER_SHARED},
		{0775, 0, self == 0 ? FOLDER_SHARED : 0, self == 0 ? FOLDER_SHARED : 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct stat folder = {
			.st_mode = S_IFDIR | rows[i].mode, .st_uid = rows[i].owner};

		print_message("row %zu\n", i);
		assert_int_equal(file_folder_check(&folder, false), rows[i].plain);
		assert_int_equal(file_folder_check(&folder, true), rows[i].sticky);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(links_of_this_user, enter, leave),
		cmocka_unit_test_setup_teardown(descriptors, enter, leave),
		cmocka_unit_test_setup_teardown(links_of_another, enter, leave),
		cmocka_unit_test_setup_teardown(files_of_others, enter, leave),
		cmocka_unit_test_setup_teardown(fifos_of_others, enter, leave),
		cmocka_unit_test_setup_teardown(files_that_are_replaced, enter, leave),
		cmocka_unit_test_setup_teardown(folders, enter, leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
