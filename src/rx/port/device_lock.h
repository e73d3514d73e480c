/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Detects virtual devices that another process uses */

#include <stdbool.h>

#include "rx/port/port_name.h"
#include "rx/port/messages.h"

#define DEVICE_LOCK_ERROR_MAX 512

/*
 * Returns true, with one line in error[DEVICE_LOCK_ERROR_MAX], if another process uses the device:
 * the socket on which it would listen (memif, vhost, virtio_user), or its tap interface. If a
 * socket is stale, removes its file, with a message.
 */
bool port_is_locked(const struct port_name *name, struct port_messages *messages, char *error);
