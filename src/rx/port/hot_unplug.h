/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

/*
 * Sets *leaving when a device that was started is to be removed. The kernel does not take a card
 * away from vfio: it asks for it, and waits until the process has let go. EAL passes that on to
 * whoever registered.
 */
void hot_unplug_hear(const char *device, atomic_bool *leaving);
void hot_unplug_forget(const char *device, atomic_bool *leaving);
