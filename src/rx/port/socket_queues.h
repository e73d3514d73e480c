/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * An ethdev whose receive queues are filled from packet sockets of an interface (packet_socket.h):
 * its driver polls an empty ring, and a callback of each queue adds the frames of the queue's
 * socket. So every design receives from it as from a card.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mempool.h>

#include "rx/port/packet_socket.h"

#define SOCKET_QUEUES_MAX 16 /* limit of DPDK's net_ring */

struct socket_queues;

/*
 * Makes the ethdev *id with n queues. Returns NULL with an errno in *error: EPERM without
 * CAP_NET_RAW.
 */
struct socket_queues *socket_queues_create(uint16_t n, uint16_t *id, int *error);

/*
 * Starts the sockets of the first n queues, once the ethdev is started; mbufs come from the pool.
 * `stamped`: each mbuf brings the time at which its frame came, ns of UTC. Returns 0, or an errno
 * and in *what the call that failed.
 */
int socket_queues_start(struct socket_queues *queues, uint16_t n,
	const struct packet_socket_params *params, struct rte_mempool *pool, bool stamped,
	const char **what);

/* File descriptor of a queue: poll() returns if a frame is there. */
int socket_queues_fd(const struct socket_queues *queues, uint16_t queue);

/* Frames put into the rings, and frames that found one full, since the start; false: unknown. */
bool socket_queues_count(struct socket_queues *queues, uint64_t *received, uint64_t *lost);

/* Lets no frame come any more. */
void socket_queues_silence(const struct socket_queues *queues);

/* File descriptors of all sockets; returns their number. */
uint32_t socket_queues_fds(const struct socket_queues *queues, int fds[SOCKET_QUEUES_MAX]);

/* Takes the callbacks away, closes the sockets and the ethdev. NULL is allowed. */
void socket_queues_destroy(struct socket_queues *queues);
