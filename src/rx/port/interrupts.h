/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

/*
 * Stops EAL's interrupt thread permanently, so that drivers can free memory that it would read.
 * From then on, no interrupt or alarm is processed. Waits up to a second.
 */
void interrupts_stop(void);

/*
 * *leaving becomes true if the kernel wants to take a card from vfio. It waits until the process
 * closes the card.
 */
void hot_unplug_hear(const char *device, atomic_bool *leaving);
void hot_unplug_forget(const char *device, atomic_bool *leaving);
