/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The reader's side of a table that all CPUs share: a map of the kernel's, that no program uses. */

#include <stdbool.h>

#include "rx/kernel/layout.h"

/* Gives every flow to `take`, and leaves the map empty. False: that cannot be done. */
bool shared_map_take(int map, void (*take)(void *arg, const struct kernel_flow *flow), void *arg);
