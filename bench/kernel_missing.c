/* SPDX-License-Identifier: BSD-3-Clause */

/* Used instead of kernel.c in builds without eBPF. */

#include "base/log.h"
#include "bench/bench.h"
#include "rx/kernel/program.h"

int bench_kernel(struct config *config)
{
	(void)config;
	log_error("built without eBPF: %s", kernel_program_missing());
	return 1;
}
