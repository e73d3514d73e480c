/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "parallel/plan/machine.h"
#include "tune/measure/pipeline.h"

/* Like pipeline_run() on the ports of `from`. Measured time starts at the first packet. */
bool pipeline_run_ports(const struct pipeline_setting *setting, const struct config *from,
	const struct machine *machine, const struct port_name *names, const uint32_t *cpus,
	uint32_t nb_cpus, uint32_t milliseconds, struct pipeline_sample *sample, char *error);

void pipeline_ports_config(
	struct config *config, const struct pipeline_setting *setting, const struct config *from);
