/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Silences libraries of drivers that print to standard error without rte_log: libbpf and libxdp,
 * which net_af_xdp loads. No effect if verbose. EAL must have loaded its drivers.
 */

#include <stdbool.h>

void port_silence_libbpf(bool verbose);
