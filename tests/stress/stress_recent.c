/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One thread takes epochs as fast as it can while others read: each epoch that they find is
 * complete, and never older than the one before.
 */

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "report/rows/recent.h"

#define READERS 3
#define TAKEN   20000

static struct recent *recent;
static _Atomic bool ended;

/* Epoch n has number 2 n and rows with that number. */
static struct report_epoch *make(uint64_t n)
{
	struct report_epoch *epoch = report_epoch_alloc(1, 1);

	assert_non_null(epoch);
	epoch->number = 2 * n;
	epoch->ledger.offered = 2 * n;
	epoch->measurements[0].name = "main";
	epoch->measurements[0].key_rule = &key_rules[0];
	epoch->measurements[0].sketch = "count-min";
	epoch->measurements[0].rows = calloc(2, sizeof(struct report_row));
	assert_non_null(epoch->measurements[0].rows);
	epoch->measurements[0].nb_rows = 2;
	epoch->measurements[0].rows[1].packets.value = 2 * n;
	return epoch;
}

static void check(const struct report_epoch *epoch, uint64_t count)
{
	if (epoch->number != 2 * count || epoch->ledger.offered != 2 * count ||
		epoch->measurements[0].rows[1].packets.value != 2 * count)
		abort();
}

/* Reads as a client of the epoch stream does. */
static void *look(void *arg)
{
	uint64_t next = 0, seen = 0;

	while (!atomic_load(&ended) || seen == 0) {
		uint64_t count;
		struct report_epoch *epoch = recent_find(recent, next, &count);
		struct recent_span span = recent_span(recent);

		if (epoch != NULL) {
			check(epoch, count);
			if (epoch->number < next)
				abort();
			next = epoch->number + 1;
			report_epoch_free(epoch);
			seen++;
		}
		for (uint64_t n = span.first; n < span.end; n += 37) {
			epoch = recent_get(recent, n);
			if (epoch != NULL)
				check(epoch, n);
			report_epoch_free(epoch);
		}
	}
	*(uint64_t *)arg = seen;
	return NULL;
}

static void test_readers(void **state)
{
	pthread_t threads[READERS];
	uint64_t seen[READERS];

	(void)state;
	recent = recent_create();
	assert_non_null(recent);
	for (int r = 0; r < READERS; r++)
		assert_int_equal(pthread_create(&threads[r], NULL, look, &seen[r]), 0);
	for (uint64_t n = 0; n < TAKEN; n++) {
		struct report_epoch *epoch = make(n);

		recent_take(recent, epoch);
		report_epoch_free(epoch);
	}
	atomic_store(&ended, true);
	for (int r = 0; r < READERS; r++) {
		pthread_join(threads[r], NULL);
		print_message("# %llu of %d epochs\n", (unsigned long long)seen[r], TAKEN);
	}
	recent_destroy(recent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_readers)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
