/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Reads the kernel interface that a driver uses (af_packet, af_xdp, tap): existence, link, and
 * packets lost before the sockets of the driver.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_SOCKETS_MAX 128

enum kernel_presence {
	KERNEL_THERE,
	KERNEL_GONE,   /* deleted, or moved to another network namespace */
	KERNEL_UNSAID, /* the request failed */
};

/* Counters since the creation of the interface, as in struct rtnl_link_stats64 */
struct kernel_interface {
	bool up; /* administratively up, with a carrier */
	uint64_t rx_errors, rx_dropped, rx_missed_errors, tx_dropped;
	uint64_t tx_packets, tx_bytes;
};

/* Sets *interface if the interface exists. */
enum kernel_presence kernel_interface_read(uint32_t index, struct kernel_interface *interface);

/* Sockets of this process that a driver opened, one per queue */
struct kernel_sockets {
	int family; /* AF_PACKET or AF_XDP */
	uint32_t nb;
	int fds[KERNEL_SOCKETS_MAX]; /* owned by the driver */
};

/*
 * Finds up to `wanted` sockets of the family. AF_PACKET sockets must be bound to the interface.
 * AF_XDP sockets do not report their interface. Skips the sockets in others[nb_others], which
 * belong to other ports. Returns true if it found `wanted` sockets.
 */
bool kernel_sockets_find(struct kernel_sockets *sockets, int family, uint32_t index,
	uint32_t wanted, const struct kernel_sockets *const *others, size_t nb_others);

/*
 * Reads the packets that AF_XDP sockets dropped since they were opened. Returns false if a socket
 * is closed.
 */
bool kernel_sockets_lost(const struct kernel_sockets *sockets, uint64_t *lost);

/* Stops the reception of sockets that only send. */
void kernel_sockets_receive_nothing(const struct kernel_sockets *sockets);

/* Makes the kernel send the packets that wait in the sockets. Returns true if none are left. */
bool kernel_sockets_flush(const struct kernel_sockets *sockets);
