/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * SIGINT and SIGTERM ask for a clean end, a second one ends at once; SIGHUP asks for new output
 * files. Handlers only set flags; the reporter looks at them.
 */

#include <stdbool.h>

/* The signal that signals_install() makes do nothing but interrupt a blocking read. */
#define SIGNALS_INTERRUPT SIGUSR1

/*
 * Installs the handlers, ignores SIGPIPE and SIGXFSZ (writes fail instead), and blocks the others
 * in the calling thread and those that it makes, until signals_unblock() lets one thread take them.
 */
void signals_install(void);
void signals_unblock(void);

bool signals_stop_requested(void);
/* True once per SIGHUP. */
bool signals_take_reopen(void);
