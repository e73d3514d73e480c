/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Checks for virtual devices that only one process at a time can use */

#include <stdbool.h>

#include "rx/port/port_name.h"
#include "rx/port/messages.h"

#define DEVICE_LOCK_ERROR_MAX 512

/*
 * Checks the socket that a device would listen on (memif, vhost, virtio_user), or the tap interface
 * that it would share. Returns true, with one line in error[DEVICE_LOCK_ERROR_MAX], if another
 * process uses it. Removes the file of a stale socket, with a message.
 */
bool port_is_locked(const struct port_name *name, struct port_messages *messages, char *error);
