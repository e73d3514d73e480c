/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Makes a kernel interface promiscuous until the returned descriptor is closed, also by the end of
 * the process. The kernel counts requests, so other runs and tcpdump on the interface are not
 * affected. Returns -1 on failure.
 */
int port_promiscuous_hold(const char *interface);
