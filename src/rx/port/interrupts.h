/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Control of the interrupt thread of EAL */

#include <stdatomic.h>
#include <stdbool.h>

/*
 * Stops the thread permanently. Drivers can then free memory that the thread would read. No later
 * interrupt, alarm or control message is processed. One call is enough. Waits up to a second. The
 * thread itself must not call it.
 */
void interrupts_stop(void);

/*
 * Sets *leaving when the removal of a started device is requested. The kernel does not take a card
 * from vfio by force. It sends a request, and waits until the process closes the card. EAL passes
 * requests to registered callbacks.
 */
void hot_unplug_hear(const char *device, atomic_bool *leaving);
void hot_unplug_forget(const char *device, atomic_bool *leaving);
