/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/socket_queues.h"

#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "base/assertion.h"
#include "rx/packet/unaligned.h"

#define ADDRESSES_LEN 12
#define TAG_LEN       4

struct socket_queue {
	/* One lcore reads the socket. */
	alignas(64) struct packet_socket socket;
	struct rte_mempool *pool;
	const struct rte_eth_rxtx_callback *callback;
	uint16_t port;
	int stamp;
	uint64_t stamped;
};

struct socket_queues {
	uint16_t id, n, started;
	struct rte_ring *empty;
	struct socket_queue queues[SOCKET_QUEUES_MAX];
};

/* Inserts the VLAN tag that the kernel removed. */
static inline void fill(struct rte_mbuf *mbuf, const struct packet_frame *frame, uint16_t port)
{
	uint8_t *to = rte_pktmbuf_mtod(mbuf, uint8_t *);
	uint32_t room = rte_pktmbuf_tailroom(mbuf), captured = RTE_MIN(frame->captured, room);

	if (unlikely(frame->tagged && captured >= ADDRESSES_LEN)) {
		captured = RTE_MIN(captured, room - TAG_LEN);
		memcpy(to, frame->data, ADDRESSES_LEN);
		put_be16(to + ADDRESSES_LEN, frame->tag_type);
		put_be16(to + ADDRESSES_LEN + 2, frame->tag_control);
		memcpy(to + ADDRESSES_LEN + TAG_LEN, frame->data + ADDRESSES_LEN,
			captured - ADDRESSES_LEN);
		mbuf->data_len = (uint16_t)(captured + TAG_LEN);
		mbuf->pkt_len = frame->length + TAG_LEN;
	} else {
		memcpy(to, frame->data, captured);
		mbuf->data_len = (uint16_t)captured;
		mbuf->pkt_len = frame->length;
	}
	mbuf->port = port;
}

static inline __attribute__((always_inline)) uint16_t receive(
	struct socket_queue *queue, struct rte_mbuf **pkts, uint16_t most, const bool stamps)
{
	struct packet_socket *socket = &queue->socket;
	uint32_t n = packet_socket_ready(socket, most);

	/* If no mbufs are free, frames stay in the ring of the socket. */
	if (n == 0 || rte_pktmbuf_alloc_bulk(queue->pool, pkts, n) != 0)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		struct packet_frame frame = packet_socket_read(socket);

		fill(pkts[i], &frame, queue->port);
		if (stamps) {
			*RTE_MBUF_DYNFIELD(pkts[i], queue->stamp, rte_mbuf_timestamp_t *) =
				(rte_mbuf_timestamp_t)frame.time;
			pkts[i]->ol_flags |= queue->stamped;
		}
		packet_socket_release(socket);
	}
	return (uint16_t)n;
}

static uint16_t add_frames(uint16_t port, uint16_t number, struct rte_mbuf **pkts, uint16_t n,
	uint16_t most, void *queue)
{
	(void)port;
	(void)number;
	return (uint16_t)(n + receive(queue, pkts + n, (uint16_t)(most - n), false));
}

static uint16_t add_stamped_frames(uint16_t port, uint16_t number, struct rte_mbuf **pkts,
	uint16_t n, uint16_t most, void *queue)
{
	(void)port;
	(void)number;
	return (uint16_t)(n + receive(queue, pkts + n, (uint16_t)(most - n), true));
}

/* The driver of all queues polls the same empty ring. */
static int make_port(struct socket_queues *queues)
{
	static unsigned int serial; /* names must be unique in the process */
	struct rte_ring *rings[SOCKET_QUEUES_MAX];
	char name[RTE_RING_NAMESIZE];
	int id;

	snprintf(name, sizeof(name), "sockets%u", serial++);
	queues->empty = rte_ring_create(name, 2, SOCKET_ID_ANY, 0);
	if (queues->empty == NULL)
		return rte_errno;
	for (uint16_t q = 0; q < queues->n; q++)
		rings[q] = queues->empty;
	/* The driver requires a send queue. It is never set up. */
	id = rte_eth_from_rings(name, rings, queues->n, rings, 1, 0);
	if (id < 0)
		return rte_errno != 0 ? rte_errno : ENOMEM;
	queues->id = (uint16_t)id;
	return 0;
}

struct socket_queues *socket_queues_create(uint16_t n, uint16_t *id, int *error)
{
	struct socket_queues *queues = aligned_alloc(alignof(struct socket_queues),
		RTE_ALIGN_CEIL(sizeof(*queues), alignof(struct socket_queues)));

	VERIFY(n, <=, SOCKET_QUEUES_MAX);
	*error = ENOMEM;
	if (queues == NULL)
		return NULL;
	memset(queues, 0, sizeof(*queues));
	queues->n = n;
	queues->id = RTE_MAX_ETHPORTS;
	for (uint16_t q = 0; q < n; q++)
		queues->queues[q].socket.fd = -1;
	*error = 0;
	for (uint16_t q = 0; q < n && *error == 0; q++)
		*error = packet_socket_open(&queues->queues[q].socket);
	if (*error == 0)
		*error = make_port(queues);
	if (*error != 0) {
		socket_queues_destroy(queues);
		return NULL;
	}
	*id = queues->id;
	return queues;
}

int socket_queues_start(struct socket_queues *queues, uint16_t n,
	const struct packet_socket_params *params, struct rte_mempool *pool, bool stamped,
	const char **what)
{
	struct packet_socket sockets[SOCKET_QUEUES_MAX];
	int stamp = 0, error;
	uint64_t flag = 0;

	VERIFY(n, <=, queues->n);
	*what = "time stamps";
	if (stamped && rte_mbuf_dyn_rx_timestamp_register(&stamp, &flag) != 0)
		return rte_errno;
	for (uint16_t q = 0; q < n; q++)
		sockets[q] = queues->queues[q].socket;
	error = packet_sockets_start(sockets, n, params, what);
	for (uint16_t q = 0; q < n; q++) {
		struct socket_queue *queue = &queues->queues[q];

		*queue = (struct socket_queue){
			.socket = sockets[q],
			.pool = pool,
			.port = queues->id,
			.stamp = stamp,
			.stamped = flag,
		};
	}
	queues->started = n;
	for (uint16_t q = 0; q < n && error == 0; q++) {
		*what = "rte_eth_add_rx_callback";
		queues->queues[q].callback = rte_eth_add_rx_callback(queues->id, q,
			stamped ? add_stamped_frames : add_frames, &queues->queues[q]);
		if (queues->queues[q].callback == NULL)
			error = rte_errno;
	}
	return error;
}

int socket_queues_fd(const struct socket_queues *queues, uint16_t queue)
{
	VERIFY(queue, <, queues->n);
	return queues->queues[queue].socket.fd;
}

bool socket_queues_count(struct socket_queues *queues, uint64_t *received, uint64_t *lost)
{
	*received = *lost = 0;
	for (uint16_t q = 0; q < queues->started; q++) {
		struct packet_socket *socket = &queues->queues[q].socket;

		if (!packet_socket_count(socket))
			return false;
		*received += socket->received;
		*lost += socket->lost;
	}
	return true;
}

void socket_queues_silence(const struct socket_queues *queues)
{
	for (uint16_t q = 0; q < queues->started; q++)
		packet_socket_silence(&queues->queues[q].socket);
}

uint32_t socket_queues_fds(const struct socket_queues *queues, int fds[SOCKET_QUEUES_MAX])
{
	for (uint16_t q = 0; q < queues->n; q++)
		fds[q] = queues->queues[q].socket.fd;
	return queues->n;
}

void socket_queues_destroy(struct socket_queues *queues)
{
	if (queues == NULL)
		return;
	for (uint16_t q = 0; q < queues->started; q++)
		if (queues->queues[q].callback != NULL)
			rte_eth_remove_rx_callback(queues->id, q, queues->queues[q].callback);
	if (queues->id != RTE_MAX_ETHPORTS)
		rte_eth_dev_close(queues->id);
	for (uint16_t q = 0; q < queues->n; q++)
		packet_socket_close(&queues->queues[q].socket);
	rte_ring_free(queues->empty);
	free(queues);
}
