/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>

#include "rx/port/port_name.h"
#include "rx/port/messages.h"

#define DEVICE_LOCK_ERROR_MAX 512

/*
 * Returns true, with one line in error[DEVICE_LOCK_ERROR_MAX], if another process uses the device.
 * Removes a stale socket file.
 */
bool port_is_locked(const struct port_name *name, struct port_messages *messages, char *error);
