/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * SIGINT and SIGTERM request a clean end. A second one ends the process at once. SIGHUP requests
 * that output files are reopened.
 */

#include <pthread.h>
#include <stdbool.h>

/* Blocking calls will end with EINTR. SIGUSR1, SIGPIPE and SIGXFSZ are ignored. */
void signals_install(void);

/* Call around the creation of threads that must not receive signals. */
void signals_block(void);
void signals_unblock(void);

int signals_start_thread(pthread_t *thread, void *(*work)(void *), void *arg);

/* Returns false, without joining the thread, if it still runs after `seconds`. */
bool signals_join_thread(pthread_t thread, int seconds);

/*
 * Sets a file, and a directory that contains only this file, to remove if a second signal ends the
 * process. Each may be NULL. The strings must remain valid.
 */
void signals_remove_at_exit(const char *file, const char *directory);

bool signals_stop_requested(void);
void signals_request_stop(void);
/* Returns true once per SIGHUP or signals_request_reopen(). */
bool signals_take_reopen(void);
void signals_request_reopen(void);
