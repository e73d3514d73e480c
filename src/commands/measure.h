/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Commands `run` and `collect`, in stages that stop in reverse. */

#include "config/config.h"

/* Measures until the end of the source, or a signal. Returns the exit status. */
int measure_traffic(struct config *config);
