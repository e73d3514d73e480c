/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The interrupt thread of EAL */

#include <stdatomic.h>
#include <stdbool.h>

/*
 * Stops the thread for good, so that it does not read memory that drivers free when they close.
 * After the return, no interrupt, alarm or control message is processed. Call once is enough. Waits
 * up to a second. Must not be called on that thread.
 */
void interrupts_stop(void);

/*
 * Sets *leaving when the removal of a started device is requested. The kernel does not remove a
 * card from vfio by force: it sends a request, and waits until the process closes the card. EAL
 * passes requests to registered callbacks.
 */
void hot_unplug_hear(const char *device, atomic_bool *leaving);
void hot_unplug_forget(const char *device, atomic_bool *leaving);
