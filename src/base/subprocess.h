/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Runs a program, without a shell, and reads its output. */

#include <stdatomic.h>
#include <stdbool.h>

#define SUBPROCESS_OUTPUT 4096
#define SUBPROCESS_ERROR  200

struct subprocess_result {
	char output[SUBPROCESS_OUTPUT]; /* start of its standard output */
	/*
	 * If it failed: the first line of its standard error, or else the reason, such as "exit
	 * status 1"
	 */
	char error[SUBPROCESS_ERROR];
};

/*
 * Returns 0 if subprocess_run() finds an executable file of this name, which has a slash or is
 * searched in PATH, else an error number.
 */
int subprocess_find(const char *program);

/*
 * Runs argv[0], which is searched in PATH, and waits for its end. Returns true if its exit status
 * is 0. After `seconds`, or once *cancel is true, kills it and its process group, and returns after
 * one more second at the latest. A program that cannot be killed is left, and reaped by a later call.
 * The program has /dev/null as standard input, and no other open files of this process. Thread-safe.
 */
bool subprocess_run(char *const argv[], int seconds, const atomic_bool *cancel,
	struct subprocess_result *result);
