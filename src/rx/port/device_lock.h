/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Virtual devices that one process at a time can have. */

#include <stdbool.h>

#include "rx/port/port_name.h"
#include "rx/port/messages.h"

#define DEVICE_LOCK_ERROR_MAX 512

/*
 * Looks at the socket on which a device would listen (memif, vhost, virtio_user), or at the tap
 * interface that it would share. True, with one line in error[DEVICE_LOCK_ERROR_MAX], where another
 * process has it. A socket's file that nobody listens on any more is removed, and that is noted.
 */
bool port_is_locked(const struct port_name *name, struct port_messages *messages, char *error);
