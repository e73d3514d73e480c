/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Reader of a flow table that all CPUs share: a kernel map that no program uses at the time */

#include <stdbool.h>

#include "rx/kernel/layout.h"

/* Passes every flow to `take` and empties the map. Returns false on failure. */
bool shared_map_take(int map, void (*take)(void *arg, const struct kernel_flow *flow), void *arg);
