/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Replaces functions of the C library that take most of EAL's start. EAL calls them like any other
 * library, and all calls outside of a start keep their meaning. If another version of DPDK does not
 * call them, its start is only slower.
 */

#include <stdbool.h>

/*
 * Begins a start of EAL by this thread. with_drivers: EAL loads all drivers, as by default. Else
 * driver_loader.h loads those that are needed.
 */
void quick_start_begin(bool with_drivers);
void quick_start_end(void);
