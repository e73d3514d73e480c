/* SPDX-License-Identifier: BSD-3-Clause */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "config/config.h"
#include "parallel/sources/sources.h"

extern const struct source_traits source_metronome;

static void an_option_selects_the_source(void **state)
{
	const struct option_owner *const owners[] = {source_metronome.options, NULL};
	const struct command command = {.name = "toy", .owners = owners};
	const struct program program = {
		.name = "toy", .commands = (const struct command *const[]){&command, NULL}};
	static char name[] = "toy", option[] = "--metronome", ten[] = "10";
	char *const words[] = {name, option, ten, NULL};
	static struct config config;

	(void)state;
	assert_int_equal(config_load(&config, &program, 3, words, stdout, stderr), CONFIG_OK);
	assert_ptr_equal(source_of(&config), &source_metronome);
	assert_string_equal(source_option(&config), "metronome");
	config_free(&config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(an_option_selects_the_source)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
