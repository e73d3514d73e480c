/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The options that `sketchtap-bench kernel` has beside those of other benches. */

#include "config/option.h"

struct kernel_bench_options {
	struct option_list rivals; /* OBJECT.o:PROGRAM */
};

OPTION_OWNER(kernel_bench)
