/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "config/config.h"

/* Runs `sketchtap-bench flow-table --hosts`. Returns an exit status. */
int bench_hosts(struct config *config);
