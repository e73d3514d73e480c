/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* State of the kernel interface that a DPDK driver uses, and packets lost before its sockets */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_SOCKETS_MAX 128

enum kernel_presence {
	KERNEL_THERE,
	KERNEL_GONE, /* deleted, or moved to another network namespace */
	KERNEL_UNSAID,
};

/* Counters since the creation of the interface, as in struct rtnl_link_stats64 */
struct kernel_interface {
	bool up; /* administratively up, with a carrier */
	uint64_t rx_errors, rx_dropped, rx_missed_errors, tx_dropped;
	uint64_t tx_packets, tx_bytes;
};

enum kernel_presence kernel_interface_read(uint32_t index, struct kernel_interface *interface);

/* Sockets of this process that a driver opened, one per queue */
struct kernel_sockets {
	int family;
	uint32_t nb;
	int fds[KERNEL_SOCKETS_MAX]; /* owned by the driver */
};

/*
 * Skips sockets in others[nb_others]. AF_XDP sockets do not report their interface. Returns true if
 * it found `wanted` sockets.
 */
bool kernel_sockets_find(struct kernel_sockets *sockets, int family, uint32_t index,
	uint32_t wanted, const struct kernel_sockets *const *others, size_t nb_others);

/* Returns packets since the sockets were opened; false if a socket is closed. */
bool kernel_sockets_lost(const struct kernel_sockets *sockets, uint64_t *lost);

void kernel_sockets_receive_nothing(const struct kernel_sockets *sockets);

/* Returns true if the sockets have no packets left. */
bool kernel_sockets_flush(const struct kernel_sockets *sockets);
