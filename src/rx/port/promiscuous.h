/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Makes an interface of the kernel promiscuous for as long as the returned descriptor is open: the
 * kernel counts who asks, so that another run, or tcpdump, on the same interface keeps what it has,
 * and ends with the process, however that ends. -1 where it may not be.
 */
int port_promiscuous_hold(const char *interface);
