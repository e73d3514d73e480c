/* SPDX-License-Identifier: BSD-3-Clause */

/* All checks, in the order of printing. */

#include "doctor/check.h"

const struct check_table check_tables[] = {
	{"Run", run_checks},
	{"Memory", memory_checks},
	{"CPUs", cpu_checks},
	{"Clocks", time_checks},
	{"Ports", card_checks},
	{"Ports", interface_checks},
	{"Ports", forward_checks},
	{"Kernel", kernel_checks},
	{0},
};
