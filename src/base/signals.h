/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * SIGINT and SIGTERM ask for a clean end, a second one ends at once; SIGHUP asks for new output
 * files. Handlers only set flags; the reporter looks at them.
 */

#include <pthread.h>
#include <stdbool.h>

/*
 * Installs the handlers, and ignores SIGPIPE and SIGXFSZ, so that writes fail instead, and
 * SIGUSR1, which means nothing here. Waiting calls end with EINTR.
 */
void signals_install(void);

/* Around the making of threads that shall not be interrupted. */
void signals_block(void);
void signals_unblock(void);

/* Starts a thread that gets no signals: they are for those that expect them. As pthread_create(). */
int signals_start_thread(pthread_t *thread, void *(*work)(void *), void *arg);

/* Joins a thread. Returns false if it still runs after `seconds`; then it is not joined. */
bool signals_join_thread(pthread_t thread, int seconds);

/* A file, and the directory in which it is the only one, that a second signal removes before it
 * ends the process; NULL: none. */
void signals_remove_at_exit(const char *file, const char *directory);

bool signals_stop_requested(void);
void signals_request_stop(void); /* as the first SIGTERM does */
/* True once per SIGHUP, or signals_request_reopen(). */
bool signals_take_reopen(void);
void signals_request_reopen(void);
