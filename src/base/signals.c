/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/signals.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static _Atomic bool stop_requested, reopen_requested;

static void on_stop(int number)
{
	if (atomic_exchange_explicit(&stop_requested, true, memory_order_relaxed))
		_exit(128 + number);
}

static void on_reopen(int number)
{
	(void)number;
	atomic_store_explicit(&reopen_requested, true, memory_order_relaxed);
}

static void on_interrupt(int number)
{
	(void)number;
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
	struct sigaction action = {.sa_handler = on_stop};
	sigset_t set = taken_signals();

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	action.sa_handler = on_reopen;
	sigaction(SIGHUP, &action, NULL);
	action.sa_handler = on_interrupt; /* without SA_RESTART: a read returns EINTR */
	sigaction(SIGNALS_INTERRUPT, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

void signals_unblock(void)
{
	sigset_t set = taken_signals();

	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

bool signals_stop_requested(void)
{
	return atomic_load_explicit(&stop_requested, memory_order_relaxed);
}

bool signals_take_reopen(void)
{
	return atomic_exchange_explicit(&reopen_requested, false, memory_order_relaxed);
}
