/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/workers/forward.h"

#include <string.h>

#include <rte_byteorder.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_ether.h>

#include "key/key_burst.h"
#include "parallel/workers/node_memory.h"
#include "parallel/workers/poll.h"
#include "rx/packet/captured.h"

/* us between two flushes of a socket */
#define FLUSH_US 50

static size_t bytes_of(uint32_t nb_ways)
{
	return sizeof(struct forward) + nb_ways * sizeof(struct forward_path);
}

static uint32_t port_of(const struct plan *plan, const struct port *ports, uint16_t id)
{
	uint32_t p = 0;

	while (p + 1 < plan->nb_ports && ports[p].id != id)
		p++;
	return p;
}

struct forward *forward_create(
	const struct plan *plan, const struct port *ports, const struct poller *poller, int node)
{
	struct forward *forward = node_memory_get(node, bytes_of(poller->nb_queues));

	if (forward == NULL)
		return NULL;
	forward->nb_ways = poller->nb_queues;
	for (uint32_t w = 0; w < forward->nb_ways; w++) {
		const struct poll_queue *queue = &poller->queues[w];
		uint32_t in = port_of(plan, ports, queue->port);
		const struct port *out = &ports[plan->ports[in].out];

		forward->ways[w].in = (uint16_t)in;
		forward->ways[w].port = port_sender(out);
		forward->ways[w].queue = queue->queue;
		forward->ways[w].send = &out->send;
	}
	return forward;
}

void forward_destroy(struct forward *forward)
{
	if (forward != NULL)
		node_memory_give_back(forward, bytes_of(forward->nb_ways));
}

void forward_recycle(struct forward *forward, uint64_t epoch)
{
	for (uint32_t w = 0; forward != NULL && w < forward->nb_ways; w++) {
		struct forward_counts *counts = &forward->ways[w].counts[epoch & 1];

		if (counts->received > 0)
			memset(counts, 0, sizeof(*counts));
	}
}

static bool fits(const struct forward_path *path, const struct rte_mbuf *mbuf)
{
	const struct port_send *send = path->send;
	const uint16_t *type;

	if (mbuf_captured(mbuf) < mbuf->pkt_len)
		return false;
	if (mbuf->nb_segs > 1 && !send->chains)
		return false;
	if (mbuf->pkt_len <= atomic_load_explicit(&send->longest, memory_order_relaxed))
		return true;
	if (mbuf->data_len < RTE_ETHER_HDR_LEN)
		return false;
	type = rte_pktmbuf_mtod_offset(mbuf, const uint16_t *, RTE_ETHER_HDR_LEN - sizeof(*type));
	return *type == RTE_BE16(RTE_ETHER_TYPE_VLAN) &&
	       mbuf->pkt_len <= atomic_load_explicit(&send->longest_tagged, memory_order_relaxed);
}

static __attribute__((noinline)) uint32_t leave_out_too_long(const struct forward_path *path,
	struct forward_counts *counts, struct rte_mbuf **pkts, uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (fits(path, pkts[i])) {
			pkts[kept++] = pkts[i];
			continue;
		}
		counts->bytes -= pkts[i]->pkt_len;
		rte_pktmbuf_free(pkts[i]);
	}
	counts->too_long += n - kept;
	return kept;
}

static __attribute__((noinline)) void drop_refused(const struct port_send *send,
	struct forward_counts *counts, struct rte_mbuf **pkts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		counts->bytes -= pkts[i]->pkt_len;
	if (atomic_load_explicit(&send->down, memory_order_relaxed))
		counts->no_link += n;
	else
		counts->tx_full += n;
	rte_pktmbuf_free_bulk(pkts, n);
}

uint64_t forward_burst(struct forward *forward, uint32_t way, uint64_t epoch,
	struct rte_mbuf **pkts, uint32_t n, uint64_t came)
{
	struct forward_path *to = &forward->ways[way];
	struct forward_counts *counts = &to->counts[epoch & 1];
	const struct port_send *send = to->send;
	uint32_t longest = 0, segments = 0, cut = 0;
	uint64_t bytes = 0, sent;
	uint16_t taken;

	for (uint32_t i = 0; i < n; i++) {
		bytes += pkts[i]->pkt_len;
		longest = RTE_MAX(longest, pkts[i]->pkt_len);
		segments |= pkts[i]->nb_segs; /* stays 1 if no packet is a chain of mbufs */
		cut |= pkts[i]->pkt_len - mbuf_captured(pkts[i]);
	}
	counts->received += n;
	counts->bytes += bytes;
	if (unlikely(longest > atomic_load_explicit(&send->longest, memory_order_relaxed) ||
		     (segments > 1 && !send->chains) || cut != 0))
		n = leave_out_too_long(to, counts, pkts, n);
	taken = rte_eth_tx_burst(to->port, to->queue, pkts, (uint16_t)n);
	sent = rte_rdtsc();
	counts->taken += taken;
	if (taken > 0)
		histogram_add(&counts->times, sent - came, taken);
	to->lingers = send->sockets.nb > 0;
	if (unlikely(taken < n)) {
		drop_refused(send, counts, pkts + taken, n - taken);
		sent = rte_rdtsc();
	}
	return sent;
}

static void flush(struct forward_path *path)
{
	if (path->lingers)
		path->lingers = !kernel_sockets_flush(&path->send->sockets);
}

void forward_rest(struct forward *forward, uint32_t way)
{
	struct forward_path *to = &forward->ways[way];
	uint64_t now;

	if (!to->lingers || (now = rte_rdtsc()) < to->flush_at)
		return;
	flush(to);
	to->flush_at = now + rte_get_tsc_hz() / 1000000 * FLUSH_US;
}

void forward_end(struct forward *forward)
{
	for (uint32_t w = 0; w < forward->nb_ways; w++)
		flush(&forward->ways[w]);
}
