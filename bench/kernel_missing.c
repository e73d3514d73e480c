/* SPDX-License-Identifier: BSD-3-Clause */

/* In the place of kernel.c where it could not be built. */

#include "base/log.h"
#include "bench/bench.h"
#include "rx/kernel/program.h"

int bench_kernel(struct config *config)
{
	(void)config;
	log_error("there is no program for the kernel here, because %s", kernel_program_missing());
	return 1;
}
