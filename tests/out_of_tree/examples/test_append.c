/* SPDX-License-Identifier: BSD-3-Clause */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sender.h"

static void appends(void **state)
{
	struct text rows = rows_of(&format_csv, 3, false);
	char folder[] = "/tmp/sketchtap-append-XXXXXX", path[64], found[4096];
	struct sender sender = {0};
	FILE *stream;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/rows", folder);
	snprintf(sender.url, sizeof(sender.url), "append:%s", path);
	start(&sender);
	push(&sender, 3);
	assert_int_equal(stop(&sender).delivered, 3);
	stream = fopen(path, "re");
	assert_non_null(stream);
	assert_int_equal(fread(found, 1, sizeof(found), stream), rows.len);
	assert_memory_equal(found, rows.data, rows.len);
	fclose(stream);
	unlink(path);
	rmdir(folder);
	text_free(&rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(appends)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
