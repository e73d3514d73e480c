/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What the devices of a plan turned out to be able to. */

#include "parallel/plan/plan.h"
#include "rx/port/port.h"

/* Asks every port of the plan, probed ones; devices[plan->nb_ports]. */
void devices_ask(const struct plan *plan, const struct port *ports, struct plan_device *devices);
