/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Spools: rows come out in order as they were put in, over any number of runs, or they are counted.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/sinks/spool.h"

#define KIND "flows json"
#define URL  "tcp://a:1"
#define SIZE (1 << 20)

#define BLOCK 4096 /* minimum disk usage of a file in bytes */

static char folder[] = "/tmp/sketchtap-spool-XXXXXX";
static char path[64]; /* path of the spool in the folder */

static struct spool *open_it(uint64_t size, uint64_t rows)
{
	struct spool_found found;
	char why[SPOOL_WHY_MAX];
	const struct spool_position position = {path, size, KIND, URL};
	struct spool *spool = spool_open(&position, &found, why);

	if (spool == NULL)
		fail_msg("%s", why);
	assert_int_equal(found.rows, rows);
	assert_int_equal(found.damaged, 0);
	assert_int_equal(spool_rows(spool), rows);
	return spool;
}

static const char *put(struct spool *spool, uint64_t rows, const char *text, const char **why)
{
	struct spool_segment segment = {.rows = rows, .start = (int64_t)(1000 * rows)};
	const char *lost;

	text_str(&segment.header, "a,b\n");
	text_str(&segment.text, text);
	lost = spool_put(spool, &segment, why);
	text_free(&segment.header);
	text_free(&segment.text);
	return lost;
}

static void assert_put(struct spool *spool, uint64_t rows, const char *text)
{
	const char *why;

	assert_null(put(spool, rows, text, &why));
	assert_null(why);
}

static void assert_oldest(struct spool *spool, uint64_t rows, const char *text)
{
	struct spool_segment segment;
	int64_t start;

	assert_int_equal(spool_oldest(spool, &segment), SPOOL_SEGMENT);
	assert_int_equal(segment.rows, rows);
	assert_int_equal(segment.start, 1000 * rows);
	assert_int_equal(segment.header.len, 4);
	assert_int_equal(segment.text.len, strlen(text));
	assert_memory_equal(segment.text.data, text, segment.text.len);
	text_free(&segment.header);
	text_free(&segment.text);
	assert_true(spool_oldest_start(spool, &start));
	assert_int_equal(start, 1000 * rows);
}

/* Returns the disk usage of a file. */
static uint64_t bytes_of(const char *name)
{
	struct stat status;
	char full[128];

	snprintf(full, sizeof(full), "%s/%s", path, name);
	assert_int_equal(stat(full, &status), 0);
	return ((uint64_t)status.st_size + BLOCK - 1) / BLOCK * BLOCK;
}

static void test_order(void **state)
{
	struct spool *spool = open_it(SIZE, 0);
	struct spool_segment segment;
	int64_t start;

	(void)state;
	assert_int_equal(spool_bytes(spool), 0);
	assert_put(spool, 1, "first\n");
	assert_put(spool, 2, "second\n\n");
	assert_oldest(spool, 1, "first\n");
	assert_oldest(spool, 1, "first\n");
	spool_done(spool);
	assert_int_equal(spool_rows(spool), 2);
	assert_int_equal(spool_bytes(spool), bytes_of("0000000000000001.rows"));
	spool_close(spool);
	/* The next run appends to existing rows. */
	spool = open_it(SIZE, 2);
	assert_put(spool, 3, "third\n");
	assert_oldest(spool, 2, "second\n\n");
	spool_done(spool);
	assert_oldest(spool, 3, "third\n");
	spool_done(spool);
	assert_int_equal(spool_oldest(spool, &segment), SPOOL_EMPTY);
	assert_false(spool_oldest_start(spool, &start));
	spool_close(spool);
}

/*
 * Rows without room are not stored partly; if the spool is empty, they are held in memory instead.
 */
static void test_full(void **state)
{
	struct spool *spool = open_it(2 * BLOCK, 0);
	const char *why;
	char text[2 * BLOCK];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 2] = '\n';
	text[sizeof(text) - 1] = '\0';
	assert_put(spool, 1, "little\n");
	assert_string_equal(put(spool, 2, text, &why), "the spool is full");
	assert_put(spool, 3, "little, too\n");
	assert_int_equal(spool_rows(spool), 4);
	spool_done(spool);
	spool_done(spool);
	memset(text, 'y', sizeof(text) - 2);
	assert_null(put(spool, 4, text, &why));
	assert_string_equal(why, "the spool is full");
	assert_int_equal(spool_give_up(spool), 4);
	assert_int_equal(spool_rows(spool), 0);
	assert_null(put(spool, 4, text, &why));
	assert_put(spool, 5, "zzzz\n");
	assert_oldest(spool, 4, text);
	spool_done(spool);
	assert_oldest(spool, 5, "zzzz\n");
	assert_int_equal(spool_give_up(spool), 0); /* already on disk */
	spool_done(spool);
	spool_close(spool);
}

/* The size limit is disk usage, also with small files: blocks of this run and the next count. */
static void test_little(void **state)
{
	struct spool *spool = open_it(4 * BLOCK, 0);
	const char *why;

	(void)state;
	for (uint64_t n = 1; n <= 4; n++) {
		assert_put(spool, n, "little\n");
		assert_int_equal(spool_bytes(spool), n * BLOCK);
	}
	assert_string_equal(put(spool, 5, "little\n", &why), "the spool is full");
	spool_close(spool);
	spool = open_it(4 * BLOCK, 10);
	assert_int_equal(spool_bytes(spool), 4 * BLOCK);
	assert_string_equal(put(spool, 5, "little\n", &why), "the spool is full");
	spool_done(spool);
	assert_put(spool, 5, "little\n");
	spool_close(spool);
}

static int clean(void **state);

static void reject(const char *kind, const char *url, const char *mentions)
{
	const struct spool_position position = {path, SIZE, kind, url};
	struct spool_found found;
	char why[SPOOL_WHY_MAX];

	assert_null(spool_open(&position, &found, why));
	if (strstr(why, mentions) == NULL)
		fail_msg("'%s' does not contain '%s'", why, mentions);
}

static void test_refused(void **state)
{
	struct spool *spool = open_it(SIZE, 0);
	char name[128];
	FILE *file;

	(void)state;
	reject(KIND, URL, "in use by another run");
	assert_put(spool, 1, "kept\n");
	spool_close(spool);
	reject("stats csv", URL, "has rows of another kind (flows json, not stats csv)");
	snprintf(name, sizeof(name), "%s/00000000000000ff.rows", path);
	file = fopen(name, "w");
	assert_non_null(file);
	fputs("sketchtap spool 2 and more\n", file);
	fclose(file);
	reject(KIND, URL, "has rows of another version of sketchtap (00000000000000ff.rows)");
	assert_int_equal(unlink(name), 0);
	spool = open_it(SIZE, 1); /* unchanged */
	spool_done(spool);
	spool_close(spool);
}

/*
 * Rows of one sink are not sent to another, unless the user removes the url file. An empty spool
 * fits any sink.
 */
static void test_other_places(void **state)
{
	struct spool *spool = open_it(SIZE, 0);
	struct spool_position position = {path, SIZE, KIND, "tcp://other:1"};
	struct spool_found found;
	char why[SPOOL_WHY_MAX], name[128];

	(void)state;
	assert_put(spool, 1, "kept\n");
	spool_close(spool);
	reject(KIND, position.url, "has rows for " URL "; name another folder, or remove /tmp/");
	reject(KIND, "tcp://a:12", "has rows for");
	reject(KIND, "tcp://a", "has rows for");
	spool = open_it(SIZE, 1);
	spool_close(spool);
	snprintf(name, sizeof(name), "%s/url", path);
	assert_int_equal(unlink(name), 0);
	spool = spool_open(&position, &found, why);
	assert_non_null(spool);
	assert_oldest(spool, 1, "kept\n");
	spool_done(spool);
	spool_close(spool);
	spool_close(open_it(SIZE, 0));
}

static void make_file(const char *name, const char *text)
{
	char full[128];
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", path, name);
	file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static bool there_is(const char *name)
{
	char full[128];

	snprintf(full, sizeof(full), "%s/%s", path, name);
	return access(full, F_OK) == 0;
}

/* Unfinished files of a run are removed; damaged ones stay, also if further ones follow. */
static void test_what_is_left(void **state)
{
	const struct spool_position position = {path, SIZE, KIND, URL};
	struct spool *spool = open_it(SIZE, 0);
	struct spool_found found;
	char why[SPOOL_WHY_MAX];

	(void)state;
	spool_close(spool);
	make_file("0000000000000003.part", "half of a");
	make_file("0000000000000000.damaged", "precious");
	make_file("0000000000000000.party", "somebody's");
	spool = open_it(SIZE, 0);
	assert_false(there_is("0000000000000003.part"));
	assert_true(there_is("0000000000000000.party"));
	assert_put(spool, 1, "first\n");
	spool_close(spool);
	make_file("0000000000000001.rows", "noise");
	spool = spool_open(&position, &found, why);
	assert_non_null(spool);
	assert_int_equal(found.damaged, 1);
	assert_true(there_is("0000000000000000.damaged"));
	assert_true(there_is("0000000000000001.damaged"));
	spool_close(spool);
}

/* Damaged files of this and earlier runs count in the size, and make room for rows. */
static void test_room_of_damaged(void **state)
{
	struct spool *spool = open_it(4 * BLOCK, 0);
	struct spool_segment segment;
	char text[BLOCK + 2];

	(void)state;
	spool_close(spool);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	make_file("0000000000000000.damaged", text);
	spool = open_it(4 * BLOCK, 0);
	assert_put(spool, 1, "little\n");
	make_file("0000000000000001.rows", "noise");
	assert_int_equal(spool_oldest(spool, &segment), SPOOL_DAMAGED);
	assert_true(there_is("0000000000000000.damaged"));
	assert_put(spool, 2, "little, too\n");
	assert_true(there_is("0000000000000000.damaged"));
	assert_put(spool, 3, "little\n");
	assert_false(there_is("0000000000000000.damaged"));
	assert_true(there_is("0000000000000001.damaged"));
	spool_close(spool);
	spool = open_it(4 * BLOCK, 5);
	assert_oldest(spool, 2, "little, too\n");
	spool_close(spool);
}

/* An unreadable file is not damaged: it stays unchanged, and is read once that is possible. */
static void test_unreadable(void **state)
{
	static const char row[] = "0000000000000000.rows";
	char name[128], aside[128], wanted[64];
	struct spool *spool = open_it(SIZE, 0);
	struct spool_segment segment;

	(void)state;
	assert_put(spool, 1, "first\n");
	snprintf(name, sizeof(name), "%s/%s", path, row);
	snprintf(aside, sizeof(aside), "%s/aside", path);
	assert_int_equal(rename(name, aside), 0);
	assert_int_equal(mkdir(name, 0700), 0); /* EISDIR, also for root */
	assert_int_equal(spool_oldest(spool, &segment), SPOOL_UNREADABLE);
	assert_int_equal(errno, EISDIR);
	assert_int_equal(spool_rows(spool), 1);
	spool_close(spool);
	snprintf(wanted, sizeof(wanted), "cannot read %s: Is a directory", row);
	reject(KIND, URL, wanted);
	assert_int_equal(rmdir(name), 0);
	assert_int_equal(rename(aside, name), 0);
	spool = open_it(SIZE, 1);
	assert_oldest(spool, 1, "first\n");
	assert_int_equal(unlink(name), 0);
	assert_int_equal(spool_oldest(spool, &segment), SPOOL_DAMAGED); /* it cannot return */
	spool_close(spool);
}

/* A file with an impossible first line is damaged, and its rows are not counted. */
static void test_first_lines(void **state)
{
	static const char begin[] = "sketchtap spool 1 " KIND " ", end[] = "checksum=0\n";
	static const struct {
		const char *text;
		uint64_t rows; /* if known */
	} cases[] = {
		{"rows=1844674407370956600 start=0 header=0 bytes=3 ", 0},
		{"rows=-16 start=0 header=0 bytes=3 ", 0},
		{"rows=4 start=0 header=0 bytes=3 ", 4},
		{"rows=4 start=0 header=0 bytes=300 ", 4},
		{"rows=18446744073709551600 start=0 header=4 bytes=18446744073709551615 ", 0},
	};
	const struct spool_position position = {path, SIZE, KIND, URL};

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct spool *spool = open_it(SIZE, 0);
		struct spool_found found;
		char why[SPOOL_WHY_MAX], text[256];

		spool_close(spool);
		snprintf(text, sizeof(text), "%s%s%sabc", begin, cases[c].text, end);
		make_file("0000000000000001.rows", text);
		spool = spool_open(&position, &found, why);
		assert_non_null(spool);
		assert_int_equal(found.damaged, 1);
		assert_int_equal(found.damaged_rows, cases[c].rows);
		assert_int_equal(found.rows, 0);
		assert_int_equal(spool_rows(spool), 0);
		spool_close(spool);
	}
}

/* A FIFO in place of a file does not block, at the start or later. */
static void test_fifos(void **state)
{
	static const char row[] = "0000000000000000.rows";
	struct spool *spool = open_it(SIZE, 0);
	struct spool_segment segment;
	char name[128];

	(void)state;
	assert_put(spool, 1, "first\n");
	snprintf(name, sizeof(name), "%s/%s", path, row);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(mkfifo(name, 0600), 0);
	assert_int_equal(spool_oldest(spool, &segment), SPOOL_UNREADABLE);
	spool_close(spool);
	reject(KIND, URL, "cannot read 0000000000000000.rows: not a regular file");
	assert_int_equal(unlink(name), 0);
	snprintf(name, sizeof(name), "%s/url", path);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(mkfifo(name, 0600), 0);
	reject(KIND, URL, "name a folder that can be written");
}

static void write_victim(const char *victim)
{
	FILE *file = fopen(victim, "w");

	fputs("not rows", file);
	fclose(file);
}

static void assert_victim(const char *victim)
{
	char text[32] = "";
	FILE *file = fopen(victim, "r");

	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_string_equal(text, "not rows");
}

/* No file is changed or created through a link in place of a file of the spool. */
static void test_links(void **state)
{
	static const char *const names[] = {"url", "lock", "0000000000000000.part"};
	char victim[128], name[128];

	(void)state;
	snprintf(victim, sizeof(victim), "%s/victim", folder);
	for (size_t i = 0; i < 3 * sizeof(names) / sizeof(names[0]); i++) {
		struct spool *spool;

		assert_int_equal(mkdir(path, 0700), 0);
		snprintf(name, sizeof(name), "%s/%s", path, names[i / 3]);
		if (i % 3 != 1)
			write_victim(victim);
		assert_int_equal(i % 3 == 2 ? link(victim, name) : symlink(victim, name), 0);
		if (i / 3 < 2) {
			reject(KIND, URL, i % 3 == 2 ? "has other names" : "not a regular file");
		} else {
			spool = open_it(SIZE, 0);
			assert_put(spool, 1, "row\n");
			spool_close(spool);
		}
		if (i % 3 != 1)
			assert_victim(victim);
		else
			assert_int_not_equal(access(victim, F_OK), 0);
		clean(NULL);
	}
}

/* The folder must belong to this user. Nothing is created in a folder of another user. */
static void test_folders_of_others(void **state)
{
	static const mode_t modes[] = {0770, 0702, 0777, 01777};
	char name[128];

	(void)state;
	snprintf(name, sizeof(name), "%s/lock", path);
	assert_int_equal(mkdir(path, 0700), 0);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(chmod(path, modes[i]), 0);
		reject(KIND, URL, "can be written to by other users");
		assert_int_not_equal(access(name, F_OK), 0);
	}
	assert_int_equal(chmod(path, 0755), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 65534, 65534), 0);
		reject(KIND, URL, "belongs to another user");
		assert_int_not_equal(access(name, F_OK), 0);
		assert_int_equal(chown(path, 0, 0), 0);
	} else {
		print_message("not root: no folder of another user\n");
	}
	spool_close(open_it(SIZE, 0));
}

/* Each changed or truncated byte of a segment is detected, at the start or when it is read. */
static void test_damaged(void **state)
{
	char name[128], other[128];

	(void)state;
	for (long at = 0;; at++) {
		struct spool *spool = open_it(SIZE, 0);
		struct spool_segment segment;
		const struct spool_position position = {path, SIZE, KIND, URL};
		struct spool_found found;
		char why[SPOOL_WHY_MAX], first;
		FILE *file;
		bool cut = at % 2 == 1;

		assert_put(spool, 7, "to be damaged\n");
		assert_put(spool, 5, "to be kept\n");
		spool_close(spool);
		snprintf(name, sizeof(name), "%s/%016x.rows", path, 0);
		snprintf(other, sizeof(other), "%s/%016x.damaged", path, 0);
		file = fopen(name, "r+");
		assert_non_null(file);
		fseek(file, at, SEEK_SET);
		first = (char)getc(file);
		if (feof(file)) {
			fclose(file);
			break;
		}
		fseek(file, at, SEEK_SET);
		putc(first ^ 1, file);
		fclose(file);
		if (cut)
			assert_int_equal(truncate(name, at), 0);
		spool = spool_open(&position, &found, why);
		if (spool == NULL) { /* looks like a spool of another sink */
			assert_true(strstr(why, "another version") || strstr(why, "another kind"));
			assert_int_equal(unlink(name), 0);
			spool = open_it(SIZE, 5);
		} else if (found.damaged == 0) {
			assert_int_equal(spool_oldest(spool, &segment), SPOOL_DAMAGED);
			assert_int_equal(access(other, F_OK), 0);
		} else {
			assert_int_equal(found.damaged, 1);
			assert_int_equal(access(other, F_OK), 0);
		}
		unlink(other);
		assert_oldest(spool, 5, "to be kept\n");
		spool_done(spool);
		spool_close(spool);
		assert_int_equal(access(name, F_OK), -1);
	}
}

static int clean(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s/*", folder);
	return system(command);
}

static int make_folder(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/spool", folder);
	return 0;
}

static int remove_folder(void **state)
{
	return clean(state) != 0 || rmdir(folder) != 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_order, clean),
		cmocka_unit_test_teardown(test_full, clean),
		cmocka_unit_test_teardown(test_little, clean),
		cmocka_unit_test_teardown(test_refused, clean),
		cmocka_unit_test_teardown(test_other_places, clean),
		cmocka_unit_test_teardown(test_what_is_left, clean),
		cmocka_unit_test_teardown(test_room_of_damaged, clean),
		cmocka_unit_test_teardown(test_unreadable, clean),
		cmocka_unit_test_teardown(test_first_lines, clean),
		cmocka_unit_test_teardown(test_fifos, clean),
		cmocka_unit_test_teardown(test_links, clean),
		cmocka_unit_test_teardown(test_folders_of_others, clean),
		cmocka_unit_test_teardown(test_damaged, clean),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
