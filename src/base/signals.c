/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/signals.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* timeout(1) signals a process twice. Signals within this time count as one. */
#define TOGETHER_NS (SECOND_NS / 10)

static _Atomic bool stop_requested, reopen_requested;
static _Atomic int64_t signalled_ns; /* time of the first signal, CLOCK_MONOTONIC; 0: none */
static const char *_Atomic left_file, *_Atomic left_directory;

static void on_stop(int number)
{
	const char *file, *directory;
	int64_t now = clock_now(CLOCK_MONOTONIC);

	if (!atomic_exchange_explicit(&stop_requested, true, memory_order_relaxed)) {
		atomic_store_explicit(&signalled_ns, now, memory_order_relaxed);
		return;
	}
	if (now - atomic_load_explicit(&signalled_ns, memory_order_relaxed) < TOGETHER_NS)
		return;
	/* Pairs with the release in signals_remove_at_exit(). */
	file = atomic_load_explicit(&left_file, memory_order_acquire);
	directory = atomic_load_explicit(&left_directory, memory_order_acquire);
	if (file != NULL)
		unlink(file);
	if (directory != NULL)
		rmdir(directory);
	_exit(128 + number);
}

static void on_reopen(int number)
{
	(void)number;
	atomic_store_explicit(&reopen_requested, true, memory_order_relaxed);
}

static sigset_t taken_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	return set;
}

void signals_install(void)
{
	struct sigaction action = {.sa_handler = on_stop}; /* without SA_RESTART */

	action.sa_mask = taken_signals();
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	action.sa_handler = on_reopen;
	sigaction(SIGHUP, &action, NULL);
	signal(SIGUSR1, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

void signals_block(void)
{
	sigset_t set = taken_signals();

	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

void signals_unblock(void)
{
	sigset_t set = taken_signals();

	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

int signals_start_thread(pthread_t *thread, void *(*work)(void *), void *arg)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(thread, NULL, work, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

bool signals_join_thread(pthread_t thread, int seconds)
{
	struct timespec until;

	/* ThreadSanitizer does not support pthread_clockjoin_np(). */
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	return pthread_timedjoin_np(thread, NULL, &until) == 0;
}

void signals_remove_at_exit(const char *file, const char *directory)
{
	/* Pairs with the acquire in on_stop(). */
	atomic_store_explicit(&left_file, file, memory_order_release);
	atomic_store_explicit(&left_directory, directory, memory_order_release);
}

bool signals_stop_requested(void)
{
	return atomic_load_explicit(&stop_requested, memory_order_relaxed);
}

void signals_request_stop(void)
{
	atomic_store_explicit(&stop_requested, true, memory_order_relaxed);
}

void signals_request_reopen(void)
{
	atomic_store_explicit(&reopen_requested, true, memory_order_release);
}

bool signals_take_reopen(void)
{
	return atomic_exchange_explicit(&reopen_requested, false, memory_order_acquire);
}
