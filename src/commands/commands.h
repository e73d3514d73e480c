/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/notify.h"
#include "config/config.h"

extern const struct program commands;

extern const struct option_owner *const commands_owners_of_run[];

int commands_run(struct config *config, const struct notify *service_manager);
