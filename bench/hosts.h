/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "config/config.h"

/* `sketchtap-bench flow-table --hosts`: returns an exit status. */
int bench_hosts(struct config *config);
