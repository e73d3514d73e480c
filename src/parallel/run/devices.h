/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Capabilities of the devices of a plan. */

#include "parallel/plan/plan.h"
#include "rx/port/port.h"

/* Reads the capabilities of all probed ports of the plan into devices[plan->nb_ports]. */
void devices_ask(const struct plan *plan, const struct port *ports, struct plan_device *devices);
