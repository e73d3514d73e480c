/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * SIGINT and SIGTERM request a clean end. A second signal ends the process at once. SIGHUP requests
 * that output files are reopened. Requests are flags, which the reporter thread polls.
 */

#include <pthread.h>
#include <stdbool.h>

/*
 * Installs the handlers. Blocking calls end with EINTR. Ignores SIGUSR1, and also SIGPIPE and
 * SIGXFSZ, so that writes return an error instead.
 */
void signals_install(void);

/* Block and unblock signals around the creation of threads that must not receive them. */
void signals_block(void);
void signals_unblock(void);

/* Starts a thread that receives no signals. Arguments as pthread_create(). */
int signals_start_thread(pthread_t *thread, void *(*work)(void *), void *arg);

/* Joins a thread. Returns false, without joining it, if it still runs after `seconds`. */
bool signals_join_thread(pthread_t thread, int seconds);

/*
 * Sets the file that is removed if a second signal ends the process, and the directory that
 * contains only this file. NULL: none. Both strings must remain valid.
 */
void signals_remove_at_exit(const char *file, const char *directory);

bool signals_stop_requested(void);
void signals_request_stop(void); /* same effect as the first SIGTERM */
/* Returns true once per SIGHUP or signals_request_reopen(). */
bool signals_take_reopen(void);
void signals_request_reopen(void);
