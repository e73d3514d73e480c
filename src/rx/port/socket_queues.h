/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * An ethdev whose driver polls an empty ring. A callback of each queue adds the frames of a packet
 * socket (packet_socket.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mempool.h>

#include "rx/port/packet_socket.h"

#define SOCKET_QUEUES_MAX 16 /* limit of DPDK's net_ring */

struct socket_queues;

/* Returns NULL with an errno in *error; EPERM without CAP_NET_RAW. */
struct socket_queues *socket_queues_create(uint16_t n, uint16_t *id, int *error);

/*
 * Call it after the start of the ethdev. If `stamped`, mbufs get the arrival time in ns of UTC.
 * Returns 0, or an errno with the failed call in *what.
 */
int socket_queues_start(struct socket_queues *queues, uint16_t n,
	const struct packet_socket_params *params, struct rte_mempool *pool, bool stamped,
	const char **what);

/* poll() on this file descriptor returns if a frame is ready. */
int socket_queues_fd(const struct socket_queues *queues, uint16_t queue);

/* Reads frames since the start. Returns false if unknown. */
bool socket_queues_count(struct socket_queues *queues, uint64_t *received, uint64_t *lost);

void socket_queues_silence(const struct socket_queues *queues);

uint32_t socket_queues_fds(const struct socket_queues *queues, int fds[SOCKET_QUEUES_MAX]);

/* NULL: no effect */
void socket_queues_destroy(struct socket_queues *queues);
