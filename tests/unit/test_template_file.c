/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The template file: entries that are read from a complete file and from one with a wrong byte in
 * any place, the state after a failed write, and the times at which the saving thread writes.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/regular_file.h"
#include "base/units.h"
#include "collect/exporters/template_file.h"

#define ENTRIES 6

static char directory[] = "/tmp/test_template_file.XXXXXX";
static char path[64];

static struct template_file_entry entry_of(uint32_t i, uint8_t *set)
{
	struct template_file_entry entry = {
		.id = {.domain = i * 1000003,
			.protocol = i % 2 ? FLOW_PROTOCOL_IPFIX : FLOW_PROTOCOL_NETFLOW9},
		.started = (int64_t)i * 1234567890123 - 5,
		.set = set,
		.len = 8 + i * 5,
	};

	for (uint32_t j = 0; j < 16; j++)
		entry.id.address.s6_addr[j] = (uint8_t)(j < 10 && i % 2 ? 0 : i + j);
	for (uint32_t j = 0; j < entry.len; j++)
		set[j] = (uint8_t)(i * 31 + j * 7);
	return entry;
}

static int write_entries(uint32_t n)
{
	struct template_writer *writer;
	uint8_t set[64];
	int status = template_file_begin(&writer, path);

	if (status != 0)
		return status;
	for (uint32_t i = 0; i < n; i++) {
		struct template_file_entry entry = entry_of(i, set);

		template_file_put(writer, &entry);
	}
	return template_file_end(writer);
}

/* Marks the entries that were read: each at most once, and no others. */
static bool see(void *arg, const struct template_file_entry *entry)
{
	uint32_t *seen = arg;
	uint8_t set[64];

	for (uint32_t i = 0; i < ENTRIES; i++) {
		struct template_file_entry wanted = entry_of(i, set);

		if (wanted.id.domain != entry->id.domain)
			continue;
		assert_int_equal(entry->id.protocol, wanted.id.protocol);
		assert_memory_equal(&entry->id.address, &wanted.id.address, 16);
		assert_int_equal(entry->started, wanted.started);
		assert_int_equal(entry->len, wanted.len);
		assert_memory_equal(entry->set, set, wanted.len);
		assert_false(*seen >> i & 1);
		*seen |= 1u << i;
		return true;
	}
	fail();
	return false;
}

static uint32_t read_back(uint64_t *damaged)
{
	uint32_t seen = 0;

	assert_int_equal(template_file_read(path, see, &seen, damaged), 0);
	return seen;
}

/* Returns true if the file is the only one in its folder. */
static bool is_alone(void)
{
	DIR *folder = opendir(directory);
	int n = 0;

	for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
		n += entry->d_name[0] != '.';
	closedir(folder);
	return n == 1 && access(path, F_OK) == 0;
}

static void it_comes_back(void **state)
{
	uint64_t damaged;

	(void)state;
	assert_int_equal(write_entries(ENTRIES), 0);
	assert_int_equal(read_back(&damaged), (1 << ENTRIES) - 1);
	assert_int_equal(damaged, 0);
	assert_true(is_alone());
	assert_int_equal(write_entries(2), 0);
	assert_int_equal(read_back(&damaged), 3);
}

static size_t load(char *text, size_t size)
{
	FILE *file = fopen(path, "r");
	size_t len;

	assert_non_null(file);
	len = fread(text, 1, size, file);
	fclose(file);
	return len;
}

static void store(const char *text, size_t len)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, len, file), len);
	fclose(file);
}

static void damage_costs_what_is_damaged(void **state)
{
	static const char bytes[] = {'\0', '\n', ' ', 'z', '0', (char)0xff};
	char text[4096], whole[4096];
	uint64_t damaged;
	size_t len;

	(void)state;
	assert_int_equal(write_entries(ENTRIES), 0);
	len = load(whole, sizeof(whole));
	assert_true(len < sizeof(whole));
	for (size_t at = 0; at < len; at++) {
		for (size_t i = 0; i < sizeof(bytes); i++) {
			uint32_t seen, most = whole[at] == '\n' ? 2 : 1;

			if (whole[at] == bytes[i])
				continue;
			memcpy(text, whole, len);
			text[at] = bytes[i];
			store(text, len);
			seen = read_back(&damaged);
			assert_true(damaged >= 1 || seen == (1 << ENTRIES) - 1);
			assert_true((uint32_t)__builtin_popcount(seen) >= ENTRIES - most);
		}
		/* Truncated at this byte. */
		store(whole, at);
		read_back(&damaged);
	}
}

static void noise_is_no_template(void **state)
{
	char *text = malloc(1 << 20);
	uint64_t damaged;

	(void)state;
	memset(text, 'a', 1 << 20);
	store(text, 1 << 20);
	assert_int_equal(template_file_read(path, see, NULL, &damaged), EBADMSG);
	assert_true(damaged > 0);
	free(text);
}

static void what_cannot_be_written_leaves_the_old_one(void **state)
{
	struct rlimit old, small = {.rlim_cur = 100, .rlim_max = RLIM_INFINITY};
	uint64_t damaged;
	int status;

	(void)state;
	assert_int_equal(write_entries(2), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small.rlim_max = old.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	status = write_entries(ENTRIES);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(status, EFBIG);
	assert_int_equal(read_back(&damaged), 3);
	assert_true(is_alone());
}

static void no_device_is_replaced(void **state)
{
	struct template_writer *writer;
	uint32_t seen = 0;
	uint64_t damaged;

	(void)state;
	assert_int_equal(template_file_begin(&writer, "/dev/full"), EINVAL);
	assert_null(writer);
	assert_int_equal(template_file_read("/dev/full", see, &seen, &damaged), EINVAL);
	assert_int_equal(template_file_begin(&writer, "/nowhere/at/all"), ENOENT);
	assert_int_equal(template_file_read("/nowhere/at/all", see, &seen, &damaged), ENOENT);
	assert_int_equal(template_file_begin(&writer, directory), EINVAL);
}

static void what_cannot_be_written_is_known_before(void **state)
{
	char longest[5000];

	(void)state;
	unlink(path);
	assert_int_equal(template_file_check(path), 0);
	assert_int_equal(write_entries(1), 0);
	assert_int_equal(template_file_check(path), 0);
	assert_int_equal(template_file_check("beside"), access(".", W_OK) == 0 ? 0 : errno);
	assert_int_equal(template_file_check("/nowhere/at/all"), ENOENT);
	assert_int_equal(template_file_check("/dev/null/all"), ENOTDIR);
	assert_int_equal(template_file_check("/dev/full"), EINVAL);
	assert_int_equal(template_file_check(directory), EINVAL);
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(template_file_check(longest), ENAMETOOLONG);
}

/* Returns the result of writing and reading the file, which must agree. */
static int use(void)
{
	int status = write_entries(1);
	uint32_t seen = 0;
	uint64_t damaged;

	assert_int_equal(template_file_check(path), status);
	assert_int_equal(template_file_read(path, see, &seen, &damaged), status);
	return status;
}

/* Only this user and root may put a template where the next run reads it. */
static void folders_of_others(void **state)
{
	static const struct {
		mode_t mode;
		int status;
	} modes[] = {{0700, 0}, {0755, 0}, {01777, 0}, {01770, 0}, {0770, FOLDER_SHARED},
		{0702, FOLDER_SHARED}, {0777, FOLDER_SHARED}};
	char other[80];

	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(chmod(directory, 0700), 0);
		assert_int_equal(write_entries(1), 0);
		assert_int_equal(chmod(directory, modes[i].mode), 0);
		assert_int_equal(use(), modes[i].status);
		assert_true(is_alone());
	}
	assert_int_equal(chmod(directory, 01777), 0);
	snprintf(other, sizeof(other), "%s/other", directory);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink("other", path), 0);
	assert_int_equal(use(), EINVAL);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rename(other, path), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 65534, 65534), 0);
		assert_int_equal(use(), FILE_OF_ANOTHER);
		assert_int_equal(chown(path, 0, 0), 0);
		assert_int_equal(chown(directory, 65534, 65534), 0);
		assert_int_equal(use(), FOLDER_OF_ANOTHER);
		assert_int_equal(chown(directory, 0, 0), 0);
	} else {
		print_message("not root: no files of another user\n");
	}
	assert_int_equal(chmod(directory, 0700), 0);
}

/* A file of another user that appears while the new one is written stays. */
static void a_file_that_came_meanwhile(void **state)
{
	struct template_writer *writer;
	struct stat file;

	(void)state;
	if (geteuid() != 0)
		skip();
	unlink(path);
	assert_int_equal(chmod(directory, 01777), 0);
	assert_int_equal(template_file_begin(&writer, path), 0);
	close(open(path, O_WRONLY | O_CREAT | O_EXCL, 0600));
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_int_equal(template_file_end(writer), FILE_OF_ANOTHER);
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_uid, 65534);
	assert_true(is_alone());
	assert_int_equal(unlink(path), 0);
	assert_int_equal(chmod(directory, 0700), 0);
}

static struct template_saver *start_saver(size_t bytes)
{
	struct template_saver *saver;

	assert_int_equal(template_saver_start(&saver, path, bytes), 0);
	return saver;
}

static int save_entries(struct template_saver *saver, uint32_t n, int64_t now)
{
	uint8_t set[64];

	template_saver_clear(saver);
	for (uint32_t i = 0; i < n; i++) {
		struct template_file_entry entry = entry_of(i, set);

		template_saver_put(saver, &entry);
	}
	template_saver_save(saver, now);
	template_saver_wait(saver);
	return template_saver_status(saver);
}

static void it_is_saved_every_ten_seconds(void **state)
{
	struct template_saver *saver = start_saver(4096);
	const int64_t now = 1000 * SECOND_NS;
	uint64_t damaged;

	(void)state;
	unlink(path);
	assert_false(template_saver_is_due(saver, false, now));
	assert_true(template_saver_is_due(saver, true, now));
	assert_int_equal(save_entries(saver, 3, now), 0);
	assert_int_equal(read_back(&damaged), 7);
	assert_false(template_saver_is_due(saver, true, now));
	assert_false(template_saver_is_due(saver, true, now + 10 * SECOND_NS - 1));
	assert_true(template_saver_is_due(saver, true, now - 1));
	assert_true(template_saver_is_due(saver, true, now + 10 * SECOND_NS));
	assert_false(template_saver_is_due(saver, false, now + 10 * SECOND_NS));
	assert_int_equal(save_entries(saver, 0, now), 0);
	assert_int_equal(read_back(&damaged), 0);
	template_saver_stop(saver);
}

static void what_was_not_saved_is_due(void **state)
{
	struct template_saver *saver = start_saver(4096);
	uint64_t damaged;

	(void)state;
	assert_int_equal(save_entries(saver, 1, 0), 0);
	assert_int_equal(chmod(directory, 0770), 0);
	assert_int_equal(save_entries(saver, ENTRIES, 0), FOLDER_SHARED);
	assert_int_equal(chmod(directory, 0700), 0);
	assert_int_equal(read_back(&damaged), 1);
	assert_false(template_saver_is_due(saver, false, 1));
	assert_true(template_saver_is_due(saver, false, 10 * SECOND_NS));
	/* The copy is still there. */
	template_saver_save(saver, 1);
	template_saver_stop(saver);
	assert_int_equal(read_back(&damaged), (1 << ENTRIES) - 1);
}

static void a_copy_that_is_not_whole_replaces_nothing(void **state)
{
	struct template_saver *saver = start_saver(100);
	uint64_t damaged;

	(void)state;
	assert_int_equal(save_entries(saver, 1, 0), 0);
	assert_int_equal(save_entries(saver, ENTRIES, 0), ENOBUFS);
	assert_int_equal(read_back(&damaged), 1);
	assert_int_equal(save_entries(saver, 0, 0), 0);
	assert_int_equal(read_back(&damaged), 0);
	template_saver_stop(saver);
}

static int set_up(void **state)
{
	(void)state;
	if (mkdtemp(directory) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/templates", directory);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_comes_back),
		cmocka_unit_test(damage_costs_what_is_damaged),
		cmocka_unit_test(noise_is_no_template),
		cmocka_unit_test(what_cannot_be_written_leaves_the_old_one),
		cmocka_unit_test(no_device_is_replaced),
		cmocka_unit_test(what_cannot_be_written_is_known_before),
		cmocka_unit_test(folders_of_others),
		cmocka_unit_test(a_file_that_came_meanwhile),
		cmocka_unit_test(it_is_saved_every_ten_seconds),
		cmocka_unit_test(what_was_not_saved_is_due),
		cmocka_unit_test(a_copy_that_is_not_whole_replaces_nothing),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
