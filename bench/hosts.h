/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "config/config.h"

int bench_hosts(struct config *config);
