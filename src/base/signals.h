/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * SIGINT and SIGTERM request a clean end, a second one ends at once. SIGHUP requests new output
 * files. Handlers only set flags, which the reporter polls.
 */

#include <pthread.h>
#include <stdbool.h>

/*
 * Installs the handlers. Ignores SIGPIPE and SIGXFSZ, so that writes fail instead, and SIGUSR1.
 * Blocking calls end with EINTR.
 */
void signals_install(void);

/* Block and unblock signals around the creation of threads that must not receive them. */
void signals_block(void);
void signals_unblock(void);

/* Starts a thread that receives no signals. Arguments as pthread_create(). */
int signals_start_thread(pthread_t *thread, void *(*work)(void *), void *arg);

/* Joins a thread. Returns false, without a join, if it still runs after `seconds`. */
bool signals_join_thread(pthread_t thread, int seconds);

/*
 * Sets what the handler removes if a second signal ends the process: a file, and the directory that
 * contains only this file. NULL: nothing.
 */
void signals_remove_at_exit(const char *file, const char *directory);

bool signals_stop_requested(void);
void signals_request_stop(void); /* same effect as the first SIGTERM */
/* Returns true once per SIGHUP or signals_request_reopen(). */
bool signals_take_reopen(void);
void signals_request_reopen(void);
