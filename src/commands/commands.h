/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What sketchtap can be asked for: a row for each command, with whose options it takes. */

#include "base/notify.h"
#include "config/config.h"

/* Exit statuses beside 0. */
#define EXIT_MACHINE 1 /* it took the machine to find out */
#define EXIT_TEXT    2 /* to be seen from the command line or the configuration alone */

extern const struct program commands;

/* Whose options a run takes. */
extern const struct option_owner *const commands_owners_of_run[];

/* Runs the command that was asked for; what it says goes to standard error. Returns the exit
 * status. */
int commands_run(struct config *config, const struct notify *service_manager);
