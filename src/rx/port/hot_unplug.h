/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

/*
 * Sets *leaving when the removal of a started device is requested. The kernel does not remove a
 * card from vfio by force: it sends a request, and waits until the process closes the card. EAL
 * passes requests to registered callbacks.
 */
void hot_unplug_hear(const char *device, atomic_bool *leaving);
void hot_unplug_forget(const char *device, atomic_bool *leaving);
