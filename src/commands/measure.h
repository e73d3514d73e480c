/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Commands `run` and `collect`, in stages that stop in reverse. */

#include "base/notify.h"
#include "config/config.h"

/* Sets the service manager of measure_traffic(). */
void measure_set_notify(const struct notify *service_manager);

/* Measures until the end of the source, or a signal. Returns the exit status. */
int measure_traffic(struct config *config);
