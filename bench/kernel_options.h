/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "config/option.h"

struct kernel_bench_options {
	struct option_list rivals;
};

OPTION_OWNER(kernel_bench)
