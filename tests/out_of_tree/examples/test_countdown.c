/* SPDX-License-Identifier: BSD-3-Clause */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "config/config.h"
#include "rx/source.h"

extern const struct source_traits source_countdown;

static void flow_f_has_f_packets(void **state)
{
	const struct option_owner *const owners[] = {source_countdown.options, NULL};
	const struct command command = {.name = "toy", .owners = owners};
	const struct program program = {
		.name = "toy", .commands = (const struct command *const[]){&command, NULL}};
	static char name[] = "toy", option[] = "--countdown", ten[] = "10";
	char *const words[] = {name, option, ten, NULL};
	static struct config config;
	char error[SOURCE_ERROR_MAX];
	struct source_packet packet;
	struct source *source;
	unsigned int n[11] = {0};

	(void)state;
	assert_int_equal(config_load(&config, &program, 3, words, stdout, stderr), CONFIG_OK);
	assert_int_equal(source_countdown.open(&config, &source, error), 0);
	while (source->next(source, &packet) > 0)
		n[packet.data[35]]++; /* the low byte of the source port */
	for (unsigned int flow = 0; flow <= 10; flow++)
		assert_int_equal(n[flow], flow);
	source->close(source);
	config_free(&config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flow_f_has_f_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
