/* SPDX-License-Identifier: BSD-3-Clause */

/* Every check there is, in the order in which they are printed. */

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
