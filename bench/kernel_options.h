/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Options of `sketchtap-bench kernel` in addition to those of all benches. */

#include "config/option.h"

struct kernel_bench_options {
	struct option_list rivals; /* OBJECT.o:PROGRAM */
};

OPTION_OWNER(kernel_bench)
