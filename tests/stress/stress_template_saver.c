/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A collector whose templates change in every epoch, the thread that saves them, and one that reads
 * the file all the time: each file it finds is complete and from the end of one epoch.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/units.h"
#include "collect/collector.h"
#include "collect/exporters/template_file.h"

#define DOMAINS    16
#define EPOCHS     500
#define FIELDS_MAX 64
#define START      INT64_C(1700000000)
#define STEP       11 /* length of an epoch in s; each may save */

static char directory[] = "/tmp/stress_template_saver.XXXXXX";
static char path[64];
static _Atomic bool ended;
static uint32_t warnings; /* written by one thread of the collector after the other */

struct datagram_bytes {
	uint8_t data[64 + 4 * FIELDS_MAX];
	uint32_t len;
};

static void put(struct datagram_bytes *to, uint64_t number, uint32_t bytes)
{
	for (uint32_t i = bytes; i-- > 0;)
		to->data[to->len++] = (uint8_t)(number >> 8 * i);
}

static uint32_t fields_of(uint32_t epoch)
{
	return 1 + epoch % FIELDS_MAX;
}

/* Sends one NetFlow v9 template, a different one in each epoch. */
static void send_template(struct collector *collector, uint32_t domain, uint32_t epoch)
{
	struct datagram_bytes bytes = {.len = 0};
	struct datagram datagram = {.src.s6_addr = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 1}};
	uint32_t seconds = epoch * STEP, n = fields_of(epoch);

	put(&bytes, 9, 2), put(&bytes, 1, 2), put(&bytes, seconds * 1000, 4);
	put(&bytes, (uint64_t)START + seconds, 4), put(&bytes, epoch, 4), put(&bytes, domain, 4);
	put(&bytes, 0, 2), put(&bytes, 8 + 4 * n, 2), put(&bytes, 256, 2), put(&bytes, n, 2);
	for (uint32_t i = 0; i < n; i++)
		put(&bytes, 1 + (epoch + i) % 90, 2), put(&bytes, 4, 2);
	datagram.data = bytes.data;
	datagram.len = bytes.len;
	datagram.time = (START + seconds) * SECOND_NS;
	collector_take(collector, &datagram);
}

struct seen {
	uint32_t sets, len;
	bool mixed;
};

static bool see(void *arg, const struct template_file_entry *entry)
{
	struct seen *seen = arg;

	seen->mixed |= seen->sets > 0 && entry->len != seen->len;
	seen->len = entry->len;
	seen->sets++;
	return true;
}

/* Reads the file and counts its errors. Returns errno. */
static int look(struct seen *seen, uint64_t *wrong)
{
	uint64_t damaged;
	int status;

	*seen = (struct seen){0};
	status = template_file_read(path, see, seen, &damaged);
	*wrong += status == 0 && (damaged > 0 || seen->sets != DOMAINS || seen->mixed);
	return status;
}

static void *read_on(void *arg)
{
	uint64_t *wrong = arg;
	struct seen seen;

	while (!atomic_load_explicit(&ended, memory_order_relaxed)) {
		int status = look(&seen, wrong);

		*wrong += status != 0 && status != ENOENT;
	}
	return NULL;
}

static void observe_none(void *arg, const struct observation *observations, uint32_t n)
{
	(void)arg;
	(void)observations;
	(void)n;
}

static void forget_none(void *arg, uint32_t exporter)
{
	(void)arg;
	(void)exporter;
}

/* Counts warnings; none is expected. */
static void say(void *arg, bool warning, const char *line)
{
	(void)arg;
	warnings += warning;
	print_message("%s\n", line);
}

static void take_exporter(void *arg, const struct exporter_row *row)
{
	(void)arg;
	(void)row;
}

static void take_link(void *arg, const struct link_row *row)
{
	(void)arg;
	(void)row;
}

static void *decode(void *arg)
{
	struct collector *collector = arg;

	for (uint32_t epoch = 0; epoch < EPOCHS; epoch++) {
		for (uint32_t domain = 0; domain < DOMAINS; domain++)
			send_template(collector, domain, epoch);
		collector_end_epoch(collector, 0, take_exporter, take_link, NULL);
		/* In some epochs the last save may still run; in others it has ended. */
		if (epoch % 3 == 0)
			usleep(1000);
	}
	return NULL;
}

static void the_file_is_whole(void **state)
{
	const struct collector_params params = {
		.exporters_max = DOMAINS,
		.template_bytes = DOMAINS * 65536,
		.waiting_bytes = 1 << 16,
		.template_file = path,
		.observe = observe_none,
		.forget = forget_none,
		.log = say,
	};
	char error[OPTION_WHY_MAX];
	struct collector *collector;
	pthread_t decoder, reader;
	uint64_t wrong = 0;
	struct seen seen;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/templates", directory);
	collector = collector_create(&params, error);
	assert_non_null(collector);
	assert_int_equal(pthread_create(&reader, NULL, read_on, &wrong), 0);
	assert_int_equal(pthread_create(&decoder, NULL, decode, collector), 0);
	pthread_join(decoder, NULL);
	collector_finish(collector);
	collector_destroy(collector);
	atomic_store_explicit(&ended, true, memory_order_relaxed);
	pthread_join(reader, NULL);
	assert_int_equal(wrong, 0);
	assert_int_equal(warnings, 0);
	/* The file holds the templates of the last epoch. */
	assert_int_equal(look(&seen, &wrong), 0);
	assert_int_equal(wrong, 0);
	assert_int_equal(seen.len, 8 + 4 * fields_of(EPOCHS - 1));
	unlink(path);
	assert_int_equal(rmdir(directory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_file_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
