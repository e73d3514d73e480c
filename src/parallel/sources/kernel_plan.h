/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Plans the memory of the eBPF program of --kernel, and checks the options of such a run. */

#include <stdbool.h>

#include "config/config.h"
#include "parallel/plan/plan.h"

struct kernel_plan {
	uint32_t entries; /* entries of the ring of each CPU */
	bool on_path;     /* the program counts packets, in flow tables or sketches */
	bool headers;     /* the program writes packet headers, not keys, to the rings */
	uint32_t buckets; /* in the flow table of each CPU and generation; 0: no tables */
	bool all_share;
	const struct sketch_ops *sketch; /* one per CPU and generation; NULL: no sketches */
	uint32_t width;
	bool tcp_flags; /* the program counts by 6-tuple */
};

struct kernel_plan kernel_plan_make(const struct config *config);

void kernel_plan_source(const struct config *config, struct plan_source *source);
bool kernel_plan_check(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault);
bool kernel_plan_takes(const struct config *running, const struct config *config, char *why);
