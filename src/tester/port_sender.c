/* SPDX-License-Identifier: BSD-3-Clause */
#include "tester/port_sender.h"

#include <net/if.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_pause.h>

#include "base/log.h"
#include "base/signals.h"
#include "base/units.h"
#include "rx/port/link_monitor.h"
#include "rx/port/sending.h"
#include "rx/port/port_name.h"

#define DRAIN_US    100000 /* us for a device to send the packets that it accepted */
#define FLUSH_US    1000   /* us between two requests to the kernel to send */
/* ns without progress after which an interface has stopped; its counters can be 1 s late */
#define PATIENCE_NS UINT64_C(2000000000)
/* ns between checks that a stalled device still exists */
#define LOOK_NS     UINT64_C(100000000)
#define LAG_MAX     128 /* packets that a late sender may send at once */

uint64_t port_sender_clock_since(uint64_t start_tsc)
{
	return (uint64_t)((__uint128_t)(rte_rdtsc() - start_tsc) * SECOND_NS / rte_get_tsc_hz());
}

bool port_sender_is_gone(const struct port_sender *sender)
{
	return sender->gone || port_is_leaving(sender->port);
}

static bool is_stopped(const struct port_sender *sender)
{
	return signals_stop_requested() || port_sender_is_gone(sender) || sender->overdue;
}

static bool look_meanwhile(const struct port_sender *sender)
{
	if (sender->watch == NULL)
		return false;
	sender->watch->meanwhile(sender->watcher);
	return true;
}

/*
 * Checks every LOOK_NS that the interface still exists. The end of the duration also ends the wait,
 * because some devices never accept packets, such as a memif that connected before its server was
 * ready.
 */
static void wait_for_device(struct port_sender *sender)
{
	struct kernel_interface interface;

	if (!look_meanwhile(sender))
		rte_pause();
	if (port_sender_clock_since(sender->looked) < LOOK_NS)
		return;
	sender->looked = rte_rdtsc();
	sender->overdue = sender->looked >= sender->end;
	if (sender->interface != 0)
		sender->gone = kernel_interface_read(sender->interface, &interface) == KERNEL_GONE;
	if (!sender->told && !sender->gone && !port_link_is_up(sender->port)) {
		log_warning("--port %s: its link is down: no packets are sent until it is up",
			sender->port->name);
		sender->told = true;
	}
}

static uint32_t transmit(struct port_sender *sender, struct rte_mbuf **pkts, uint32_t n)
{
	uint32_t done;

	if (sender->watch == NULL)
		return rte_eth_tx_burst(port_sender(sender->port), 0, pkts, (uint16_t)n);
	sender->watch->depart(sender->watcher, pkts, n);
	done = rte_eth_tx_burst(port_sender(sender->port), 0, pkts, (uint16_t)n);
	sender->watch->departed(sender->watcher, done);
	sender->watch->meanwhile(sender->watcher);
	return done;
}

static void send_burst(struct port_sender *sender)
{
	uint32_t done = 0;

	while (done < sender->n && !is_stopped(sender)) {
		done += transmit(sender, &sender->burst[done], sender->n - done);
		if (done < sender->n)
			wait_for_device(sender);
	}
	for (uint32_t i = done; i < sender->n; i++) {
		sender->sent--;
		sender->bytes -= rte_pktmbuf_pkt_len(sender->burst[i]);
	}
	rte_pktmbuf_free_bulk(&sender->burst[done], sender->n - done);
	sender->n = 0;
}

/* Returns false if the duration ends before the packet is due. */
static bool wait_until_due(struct port_sender *sender, const struct source_packet *packet)
{
	uint64_t now = rte_rdtsc();
	uint64_t cycles = pacer_wait(&sender->pacer, sender->sent, packet->time);

	if (now >= sender->end || cycles >= sender->end - now)
		return false;
	if (cycles > 0)
		send_burst(sender);
	while (cycles > 0 && !is_stopped(sender)) {
		if (!look_meanwhile(sender) && !pacer_nap(cycles))
			rte_pause();
		cycles = pacer_wait(&sender->pacer, sender->sent, packet->time);
	}
	if (sender->watch != NULL)
		pacer_forgive(&sender->pacer, sender->sent, LAG_MAX);
	return true;
}

static bool add_packet(struct port_sender *sender, const struct source_packet *packet)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(sender->pool);
	char *data;

	/* Sending makes the driver free mbufs of earlier packets. */
	while (mbuf == NULL && !is_stopped(sender)) {
		send_burst(sender);
		mbuf = rte_pktmbuf_alloc(sender->pool);
		if (mbuf == NULL)
			wait_for_device(sender);
	}
	if (mbuf == NULL)
		return false;
	data = rte_pktmbuf_append(mbuf, (uint16_t)packet->captured);
	memcpy(data, packet->data, packet->captured);
	sender->burst[sender->n++] = mbuf;
	sender->sent++;
	sender->bytes += packet->captured;
	if (sender->n == SENDER_BURST)
		send_burst(sender);
	return true;
}

static void observe_interface(struct port_sender *sender)
{
	const struct port *port = sender->port;
	uint32_t index = if_nametoindex(port->interface);

	if (port->interface[0] == '\0' || port_is_pci(port->device) ||
		kernel_interface_read(index, &sender->before) != KERNEL_THERE)
		return;
	sender->interface = index;
	port_sending_sockets(port, index, &sender->sockets);
}

static bool next_packet(struct port_sender *sender, struct source_packet *packet)
{
	int result = sender->source->next(sender->source, packet);

	if (result == 0 && sender->again) {
		sender->source->restart(sender->source, SOURCE_PAYLOAD_MAX);
		result = sender->source->next(sender->source, packet);
	}
	return result > 0;
}

static void start_clock(
	struct port_sender *sender, const struct feeder_options *limits, int64_t first_time)
{
	pacer_start(&sender->pacer, limits->pace, limits->pace_rate, first_time);
	sender->begun = sender->pacer.start_tsc;
	sender->end = UINT64_MAX;
	/* No overflow: the longest duration, a century, is fewer than 2^64 cycles. */
	if (limits->duration > 0)
		sender->end = sender->pacer.start_tsc + (uint64_t)((__uint128_t)limits->duration *
								   rte_get_tsc_hz() / SECOND_NS);
}

void port_sender_send(struct port_sender *sender, const struct feeder_options *limits)
{
	uint64_t most = limits->packets > 0 ? limits->packets : UINT64_MAX;
	struct source_packet packet;

	sender->sent = sender->bytes = 0;
	sender->overdue = false;
	sender->looked = sender->begun = rte_rdtsc();
	observe_interface(sender);
	while (!is_stopped(sender) && next_packet(sender, &packet)) {
		if (sender->sent == 0)
			start_clock(sender, limits, packet.time);
		if (sender->sent == most || !wait_until_due(sender, &packet) ||
			!add_packet(sender, &packet))
			break;
	}
	send_burst(sender);
	sender->took = rte_rdtsc() - sender->begun;
}

static void pause_us(const struct port_sender *sender, uint64_t us)
{
	uint64_t start = rte_rdtsc();

	if (!look_meanwhile(sender))
		rte_delay_us_sleep((unsigned int)us);
	while (sender->watch != NULL && port_sender_clock_since(start) < us * 1000)
		look_meanwhile(sender);
}

/*
 * Waits until the kernel has sent all packets or makes no more progress. Returns the number of
 * missing packets.
 *
 * The kernel sends the packets in the driver's sockets only on a system call, which the driver
 * makes only when it gets more packets. So this function makes the call. Other programs may also
 * send on the interface: its counters can prove that packets are missing, but not that all were
 * sent.
 */
static uint64_t drain_interface(struct port_sender *sender)
{
	uint64_t moved = rte_rdtsc(), packets = 0, bytes = 0, missing;
	bool empty;

	do {
		struct kernel_interface now;
		enum kernel_presence presence;

		pause_us(sender, FLUSH_US);
		empty = kernel_sockets_flush(&sender->sockets);
		presence = kernel_interface_read(sender->interface, &now);
		sender->gone = presence == KERNEL_GONE;
		if (presence != KERNEL_THERE ||
			now.tx_packets - sender->before.tx_packets == packets)
			continue;
		packets = now.tx_packets - sender->before.tx_packets;
		bytes = now.tx_bytes - sender->before.tx_bytes;
		moved = rte_rdtsc();
	} while (!sender->gone && (!empty || packets < sender->sent) &&
		 port_sender_clock_since(moved) < PATIENCE_NS);
	if (sender->gone || (empty && packets >= sender->sent))
		return 0;
	missing = packets < sender->sent ? sender->sent - packets : 1;
	sender->sent -= missing;
	sender->bytes = RTE_MIN(sender->bytes, bytes);
	return missing;
}

uint64_t port_sender_drain(struct port_sender *sender)
{
	if (port_sender_is_gone(sender))
		return 0;
	if (sender->interface != 0 && sender->sent > 0)
		return drain_interface(sender);
	pause_us(sender, DRAIN_US);
	return 0;
}
