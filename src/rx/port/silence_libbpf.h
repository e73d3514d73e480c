/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Libraries under a driver that print on standard error by themselves, past rte_log: libbpf and
 * libxdp, which net_af_xdp loads. Silences them unless verbose; EAL must have loaded its drivers.
 */

#include <stdbool.h>

void port_silence_libbpf(bool verbose);
