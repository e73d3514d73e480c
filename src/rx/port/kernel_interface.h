/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * State of the kernel interface below a driver (af_packet, af_xdp, tap): existence, link, and
 * losses before the sockets of the driver.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_SOCKETS_MAX 128

enum kernel_presence {
	KERNEL_THERE,
	KERNEL_GONE,   /* deleted, or moved to another network namespace */
	KERNEL_UNSAID, /* the kernel could not be asked */
};

/* Counters since the interface was made; struct rtnl_link_stats64 says what each means. */
struct kernel_interface {
	bool up; /* administratively and its carrier */
	uint64_t rx_errors, rx_dropped, rx_missed_errors, tx_dropped;
	uint64_t tx_packets, tx_bytes;
};

/* One rtnetlink request; `interface` is filled where it is there. */
enum kernel_presence kernel_interface_read(uint32_t index, struct kernel_interface *interface);

/* Sockets of this process that a driver opened, one for each of its queues. */
struct kernel_sockets {
	int family; /* AF_PACKET or AF_XDP */
	uint32_t nb;
	int fds[KERNEL_SOCKETS_MAX]; /* the driver's, which closes them */
};

/*
 * Finds up to `wanted` sockets of the family: those bound to the interface (AF_PACKET), or all, as
 * AF_XDP does not tell its own; those in others[nb_others] belong to other ports. Returns whether
 * there were as many as wanted.
 */
bool kernel_sockets_find(struct kernel_sockets *sockets, int family, uint32_t index,
	uint32_t wanted, const struct kernel_sockets *const *others, size_t nb_others);

/*
 * Reads packets dropped by AF_XDP sockets since they were opened. Returns false if one is closed.
 */
bool kernel_sockets_lost(const struct kernel_sockets *sockets, uint64_t *lost);

/* Makes sockets that only send receive nothing. */
void kernel_sockets_receive_nothing(const struct kernel_sockets *sockets);

/* Has the kernel send what waits in the sockets, as far as there is room; true: nothing waits. */
bool kernel_sockets_flush(const struct kernel_sockets *sockets);
