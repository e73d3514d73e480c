/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Reads a system clock in ns. CLOCK_REALTIME counts from 1970-01-01 UTC. */

#include <stdint.h>
#include <time.h>

#include "base/units.h"

static inline int64_t clock_now(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
}
