/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Table of all commands. */

#include "base/notify.h"
#include "config/config.h"

extern const struct program commands;

/* Tables of the options of `sketchtap run`. */
extern const struct option_owner *const commands_owners_of_run[];

/* Runs the selected command, which logs to standard error. Returns the exit status. */
int commands_run(struct config *config, const struct notify *service_manager);
